/* db_silence.c - leaves a server for another host of the connection string: when the server has stopped answering and the
 * other host can be written to, or when the server has an older copy of the database than the other host.
 *
 * Called by: db.c when it sends a call or receives anything; db_connect.c when a connection is made; then the event loop.
 * Invariants:
 * - An idle connection sends a call that does nothing now and then, since it may wait only for notifications and would not
 *   notice a silent server.
 * - A server that is only slow keeps its connection: without another writable host, nothing happens.
 * - The other hosts are tried one after the other, each by a second connection, while the silent connection stays open.
 * - When a connection is made, the other hosts are tried once, by one connection of the process. Standbys refuse at once. Of
 *   two servers that can be written to, the one with the newer incarnation is used.
 * - Where the connection string names one host, nothing is tried. */
#include "lib/db_inside.h"

#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"

enum { SILENT_MS = 5000, IDLE_MS = 10000, ROUND_MS = 1000, PROBE_SECONDS = 3, SURVEY_MS = 10000 };

struct db_silence {
	struct db *db;
	void (*ping)(struct db *db); /* sends a call that does nothing */
	struct event *timer;	     /* timer that runs while there is a connection; it also ends a probe that is not answered */
	/* when the server last sent something; before that, when the first of the calls under way was sent */
	int64_t received_at;
	int place;	     /* number of the host that `probe` tries */
	PGconn *probe;	     /* connection to the host `place`, as a probe; NULL: none */
	struct event *ready; /* event of the socket of `probe` */
	bool is_survey;	     /* the hosts are tried because the connection was just made; false: because the server is silent */
	bool is_asked;	     /* `probe` is connected, and was asked for its incarnation */
};

static int64_t surveyed_at; /* when a connection of this process last began to try the other hosts */

static void silence_wait(struct db_silence *s, int ms)
{
	struct timeval wait = {ms / 1000, ms % 1000 * 1000};
	evtimer_add(s->timer, &wait);
}

static void probe_end(struct db_silence *s)
{
	if (s->ready)
		event_free(s->ready);
	s->ready = NULL;
	PQfinish(s->probe);
	s->probe = NULL;
	s->is_asked = false;
}

static bool is_writable(const PGconn *conn)
{
	const char *standby = PQparameterStatus(conn, "in_hot_standby");
	const char *reads_only = PQparameterStatus(conn, "default_transaction_read_only");
	return standby && strcmp(standby, "off") == 0 && reads_only && strcmp(reads_only, "off") == 0;
}

static bool is_silent(const struct db_silence *s)
{
	return s->db->state == DB_UP && s->db->sent.head && clock_ms() - s->received_at >= SILENT_MS;
}

bool db_is_silent(const struct db *db)
{
	return db->silence && is_silent(db->silence);
}

/* Leave the server: close its connection as lost, so that the event loop connects to the host of the probe. */
static void silence_leave(struct db_silence *s)
{
	struct db *db = s->db;
	const char *host = PQhost(db->conn), *other = PQhost(s->probe);
	if (s->is_survey)
		log_warning("database connection: host \"%s\" is an older copy; going to host \"%s\", which can be written to",
			    host ? host : "", other ? other : "");
	else
		log_warning("database connection: host \"%s\" has not answered for %lld seconds; going to host \"%s\", which can "
			    "be written to",
			    host ? host : "", (long long)(clock_ms() - s->received_at) / 1000, other ? other : "");
	s->is_survey = false;
	probe_end(s);
	event_del(s->timer);
	db->place = s->place;
	db->state = DB_BROKEN;
	event_active(db->deferred, 0, 0);
}

static void probe_start(struct db_silence *s);

/* Close the probe and try the next host. After the last host, wait for the next round. */
static void probe_failed(struct db_silence *s)
{
	probe_end(s);
	s->place = (s->place + 1) % s->db->place_count;
	if (s->place != s->db->place) {
		probe_start(s);
		return;
	}
	s->is_survey = false;
	silence_wait(s, ROUND_MS);
}

static void probe_wait(struct db_silence *s, short what);

/* Read the probe's answer. Go over to its server if that has a newer incarnation which includes the one that this process has
 * seen. */
static void probe_answered(struct db_silence *s)
{
	PGresult *answer = NULL;
	bool alive = PQconsumeInput(s->probe), newer = false;
	if (alive && PQisBusy(s->probe)) {
		probe_wait(s, EV_READ);
		return;
	}
	if (alive)
		answer = PQgetResult(s->probe);
	newer = PQresultStatus(answer) == PGRES_TUPLES_OK && s->db->state == DB_UP && db_admit_is_newer(s->db, answer);
	PQclear(answer);
	if (newer)
		silence_leave(s);
	else
		probe_failed(s);
}

static void probe_ask(struct db_silence *s)
{
	s->is_asked = db_admit_send(s->probe, &s->db->admitted);
	if (s->is_asked)
		probe_wait(s, EV_READ);
	else
		probe_failed(s);
}

static void on_probe(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	struct db_silence *s = arg;
	event_free(s->ready);
	s->ready = NULL;
	if (s->is_asked) {
		probe_answered(s);
		return;
	}
	PostgresPollingStatusType status = PQconnectPoll(s->probe);
	if (status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING)
		probe_wait(s, status == PGRES_POLLING_READING ? EV_READ : EV_WRITE);
	else if (status == PGRES_POLLING_OK && is_writable(s->probe) && s->is_survey)
		probe_ask(s);
	else if (status == PGRES_POLLING_OK && is_writable(s->probe) && is_silent(s))
		silence_leave(s);
	else
		probe_failed(s);
}

static void probe_wait(struct db_silence *s, short what)
{
	s->ready = event_new(s->db->base, PQsocket(s->probe), what, on_probe, s);
	if (!s->ready || event_add(s->ready, NULL) < 0)
		die("could not make an event for the database connection");
}

static void probe_start(struct db_silence *s)
{
	s->probe = PQconnectStart(s->db->places[s->place]);
	bool good = s->probe && PQstatus(s->probe) != CONNECTION_BAD;
	silence_wait(s, good ? PROBE_SECONDS * 1000 : 0);
	if (good)
		probe_wait(s, EV_WRITE);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	struct db_silence *s = arg;
	struct db *db = s->db;
	int64_t quiet = clock_ms() - s->received_at;
	if (s->probe) {
		probe_failed(s);
	} else if (is_silent(s) || s->is_survey) {
		s->is_survey = s->is_survey && !is_silent(s);
		s->place = (db->place + 1) % db->place_count;
		probe_start(s);
	} else if (db->state == DB_UP && !db->sent.head && quiet >= IDLE_MS) {
		s->ping(db);
	} else if (db->state == DB_UP) {
		silence_wait(s, (int)((db->sent.head ? SILENT_MS : IDLE_MS) - quiet));
	}
}

struct db_silence *db_silence_new(struct db *db, void (*ping)(struct db *db))
{
	if (db->place_count < 2)
		return NULL;
	struct db_silence *s = xcalloc(1, sizeof *s);
	s->db = db;
	s->ping = ping;
	s->timer = evtimer_new(db->base, on_timer, s);
	if (!s->timer)
		die("could not make an event for the database connection");
	return s;
}

void db_silence_free(struct db_silence *s)
{
	if (!s)
		return;
	probe_end(s);
	event_free(s->timer);
	free(s);
}

void db_silence_up(struct db_silence *s)
{
	uint16_t part;
	if (!s || (surveyed_at && clock_ms() - surveyed_at < SURVEY_MS))
		return;
	/* A random part of the wait: thousands of daemons may connect at once to a server that has just been promoted. */
	evutil_secure_rng_get_bytes(&part, sizeof part);
	surveyed_at = clock_ms();
	s->is_survey = true;
	silence_wait(s, part % SILENT_MS);
}

void db_silence_sent(struct db_silence *s)
{
	if (!s || s->db->sent.head->next) /* another call is under way already */
		return;
	s->received_at = clock_ms();
	if (!s->probe && !s->is_survey)
		silence_wait(s, SILENT_MS);
}

void db_silence_received(struct db_silence *s)
{
	if (s)
		s->received_at = clock_ms();
}
