/* db_connect.c - connects without blocking, prepares the functions of this user in api.def, sends LISTEN, has the server
 * admitted.
 *
 * Called by: daemons, through db_open(); then the event loop, and again after each loss.
 * Invariants:
 * - While connecting, only the event `read` watches the socket.
 * - Each attempt is at one host and has a deadline of its own, since libpq's connect_timeout does not apply to PQconnectPoll().
 *   So a host that does not answer does not delay the attempts at the other hosts; it is passed over for a while. The first
 *   attempt at one of several hosts fails after REACH_MS unless the host accepts the connection: a machine that is down does not.
 * - Through a pooler, a connection is up once db_pooler.c has found that it has a session of its own.
 * - libpq blocks to resolve host names. Where that is slow, the connection string should have hostaddr. */
#include "lib/db_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/socket_peer.h"
#include "lib/text.h"

enum {
	CONNECT_SECONDS = 10,  /* time for reaching a host, where the connection string has no connect_timeout */
	CONNECT_REACHED = 6,   /* a connection string with one host: wait for the host's answer so many times connect_timeout */
	CONNECT_LATE_MOST = 2, /* how often the time limit of CONNECT_REACHED may double */
	REACH_MS = 300,	       /* several hosts: time for one to accept the connection in the first round */
	POOLER_SECONDS = 10,   /* time for a notification to arrive through a pooler */
	LATE_MS = 10000	       /* a host that did not answer in time is passed over for so long */
};

/* Set the time within which a connection must be made and all its functions prepared. */
static void connect_limit(struct db *db, int ms)
{
	struct timeval limit = {ms / 1000, ms % 1000 * 1000};
	db->limit_ms = ms;
	evtimer_add(db->connect, &limit);
}

static void connect_done(struct db *db)
{
	db->state = DB_UP;
	db->backoff_ms = DB_BACKOFF_FIRST_MS;
	db->tried = db->late = 0;
	db->late_until[db->place] = 0;
	db->has_passed_over = false;
	db->reported[0] = db->failed[0] = '\0';
	evtimer_del(db->connect);
	db_silence_up(db->silence);
	db->watcher->up(db, db->watcher->arg);
}

/* Close a connection that is refused, and delay the next attempt to connect, which would probably be refused too. */
static void connect_refused(struct db *db, const struct err *objection)
{
	db->backoff_ms = DB_BACKOFF_REFUSED_MS;
	db_lost(db, objection);
}

static void on_pooler_refused(struct db *db, const struct err *e)
{
	db_enter(db);
	connect_refused(db, e);
	db_leave(db);
}

static void on_pooler_notified(struct db *db)
{
	connect_limit(db, POOLER_SECONDS * 1000);
}

static void on_unlisten(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db, (void)result, (void)e, (void)arg; /* after a failure the session only listens on one more channel */
}

/* The pooler is in session mode: the connection is as good as a direct one. */
static void on_pooler_is_own(struct db *db)
{
	char sql[64];
	snprintf(sql, sizeof sql, "unlisten %s", db_pooler_channel(db->pooler));
	db_pooler_free(db->pooler);
	db->pooler = NULL;
	db_send_end(db, PQsendQueryParams(db->conn, sql, 0, NULL, NULL, NULL, NULL, 0), on_unlisten, NULL);
	for (int i = 0; i < db->channel_count; i++) /* also channels that db_listen() added, but could not send meanwhile */
		db_send_end(db, db_send_listen(db, db->channels[i]), on_unlisten, NULL);
	if (db->state == DB_PREPARING) /* sending has not failed */
		connect_done(db);
}

static void on_pooler_listening(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)arg;
	if (db->state != DB_PREPARING)
		return;
	if (result)
		db_pooler_notify(db->pooler);
	else
		db_lost(db, e);
}

/* Begin to find out whether the pooler is in session mode. */
static void pooler_start(struct db *db)
{
	static const struct db_pooler_watcher watcher = {on_pooler_is_own, on_pooler_notified, on_pooler_refused};
	db->pooler = db_pooler_new(db, &watcher);
	db_send_end(db, db_send_listen(db, db_pooler_channel(db->pooler)), on_pooler_listening, NULL);
}

/* Callback for the answer to preparing all functions. After a failure, the database may have functions of another version. */
static void on_prepared(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)arg;
	struct err objection = {0};
	if (db->state != DB_PREPARING)
		return;
	if (!result) {
		struct err misfit = *e;
		/* SQLSTATE 42...: the function is missing, or the role of this connection may not call it */
		if (strncmp(e->code, "42", 2) == 0) {
			err_set(&misfit, "the functions of the database are of another version than this program: %.400s",
				e->message);
			err_hint(&misfit, "bring it up to date with \"rota admin db upgrade\"");
			memcpy(misfit.code, e->code, sizeof misfit.code);
		}
		db_lost(db, &misfit);
		return;
	}
	if (!db_admit(db, result, &objection)) {
		connect_refused(db, &objection);
		return;
	}
	if (db->is_pooled)
		pooler_start(db);
	else
		connect_done(db);
}

static bool send_prepare(struct db *db, int function)
{
	char sql[512];
	size_t used = (size_t)snprintf(sql, sizeof sql, "select * from api.%s(", db_functions[function].name);
	const char *type = db_functions[function].parameters;
	for (int i = 1; *type; i++) {
		int length = (int)strcspn(type, ",");
		used += (size_t)snprintf(sql + used, sizeof sql - used, "%s$%d::%.*s", i > 1 ? "," : "", i, length, type);
		type += length + (type[length] == ',');
	}
	snprintf(sql + used, sizeof sql - used, ")");
	return PQsendPrepare(db->conn, db_functions[function].name, sql, 0, NULL);
}

static bool send_setting(struct db *db)
{
	const char *values[] = {db->setting, db->value};
	return PQsendQueryParams(db->conn, "select set_config($1, $2, false)", 2, NULL, values, NULL, NULL, 0);
}

static void on_notice(void *arg, const PGresult *result)
{
	(void)arg;
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	log_debug("database: %s", message ? message : "notice");
}

/* Prepare all functions, make the setting, LISTEN on all channels and ask for the incarnation, in one round trip. */
static void db_prepare(struct db *db)
{
	int fd = PQsocket(db->conn);
	db->read = event_new(db->base, fd, EV_READ | EV_PERSIST, db_on_socket, db);
	db->write = event_new(db->base, fd, EV_WRITE, db_on_socket, db);
	if (!db->read || !db->write || event_add(db->read, NULL) < 0)
		die("could not make an event for the database connection");
	PQsetNoticeReceiver(db->conn, on_notice, NULL);
	bool sent = PQsetnonblocking(db->conn, 1) == 0 && PQenterPipelineMode(db->conn);
	for (int i = 0; sent && i < API_COUNT; i++)
		if (db_functions[i].users & (unsigned)db->user && i != API_incarnation_admit)
			sent = send_prepare(db, i);
	if (sent && db->setting)
		sent = send_setting(db);
	for (int i = 0; sent && i < db->channel_count; i++)
		sent = db_send_listen(db, db->channels[i]);
	db->asked = db_seen_read();
	sent = sent && db_admit_send(db->conn, &db->asked);
	db->state = DB_PREPARING;
	db_send_end(db, sent, on_prepared, NULL);
}

/* Returns connect_timeout of the connection string, or the default, in seconds. */
static int connect_timeout(PGconn *conn)
{
	PQconninfoOption *options = PQconninfo(conn);
	int seconds = 0;
	for (const PQconninfoOption *o = options; o && o->keyword; o++)
		if (strcmp(o->keyword, "connect_timeout") == 0 && o->val)
			seconds = atoi(o->val);
	PQconninfoFree(options);
	return seconds > 0 ? seconds : CONNECT_SECONDS;
}

/* The host accepted the connection. One of several hosts has connect_timeout from now on. If it is the only one, give it more
 * time, and more each time that it was late. A new session costs the server up to a tenth of a second of CPU time. When a
 * thousand daemons connect at once, all sessions are ready late. If the daemons gave up before, the server would start the same
 * sessions again and again. */
static void connect_reached(struct db *db)
{
	int doubled = db->late < CONNECT_LATE_MOST ? db->late : CONNECT_LATE_MOST;
	if (db->is_reached)
		return;
	db->is_reached = true;
	if (db->place_count == 1)
		connect_limit(db, connect_timeout(db->conn) * 1000 * CONNECT_REACHED << doubled);
	else if (db->is_first_round)
		connect_limit(db, connect_timeout(db->conn) * 1000);
}

static void on_connecting(evutil_socket_t fd, short what, void *arg);

/* Wait for the socket of libpq. Each step of connecting may use another socket, and so needs a new event. */
static void connect_wait(struct db *db, short what)
{
	db->read = event_new(db->base, PQsocket(db->conn), what, on_connecting, db);
	if (!db->read || event_add(db->read, NULL) < 0)
		die("could not make an event for the database connection");
}

static void on_connecting(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	struct db *db = arg;
	db_enter(db);
	event_free(db->read);
	db->read = NULL;
	PostgresPollingStatusType status = PQconnectPoll(db->conn);
	if (status != PGRES_POLLING_FAILED && PQstatus(db->conn) != CONNECTION_STARTED)
		connect_reached(db);
	if (status == PGRES_POLLING_OK)
		db_prepare(db);
	else if (status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING)
		connect_wait(db, status == PGRES_POLLING_READING ? EV_READ : EV_WRITE);
	else
		db_lost_conn(db);
	db_leave(db);
}

static void connect_start(struct db *db)
{
	db->state = DB_CONNECTING;
	db->conn = PQconnectStart(db->places[db->place]);
	if (!db->conn || PQstatus(db->conn) == CONNECTION_BAD) {
		db_lost_conn(db);
		return;
	}
	db->is_reached = false;
	connect_limit(db, db->place_count > 1 && db->is_first_round ? REACH_MS : connect_timeout(db->conn) * 1000);
	connect_wait(db, EV_WRITE);
}

static void connect_late(struct db *db)
{
	struct err e;
	const char *host = PQhost(db->conn);
	if (db->pooler) {
		db_pooler_objection(db->pooler, host ? host : "", db->limit_ms / 1000, &e);
		connect_refused(db, &e);
		return;
	}
	err_set(&e, "database connection: no answer from \"%s\" within %g second%s", host ? host : "", db->limit_ms / 1000.0,
		db->limit_ms == 1000 ? "" : "s");
	strcpy(e.code, "08006");
	db->late += db->is_reached;
	if (db->is_reached || !db->is_first_round)
		db->late_until[db->place] = clock_ms() + LATE_MS;
	db_lost(db, &e);
}

static void db_on_connect(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	struct db *db = arg;
	db_enter(db);
	if (db->state == DB_DOWN)
		connect_start(db);
	else
		connect_late(db);
	db_leave(db);
}

struct db *db_open(struct event_base *base, const char *conninfo, enum api_user user, const char *const *channels,
		   const struct db_watcher *watcher)
{
	struct timeval now = {0, 0};
	struct db *db = xcalloc(1, sizeof *db);
	db->base = base;
	for (char *place; (place = db_conninfo_place(conninfo, db->place_count));) {
		db->places = xrealloc(db->places, (size_t)(db->place_count + 1) * sizeof *db->places);
		db->places[db->place_count++] = place;
	}
	db->late_until = xcalloc((size_t)db->place_count, sizeof *db->late_until);
	db->silence = db_silence_new(db, db_ping);
	db_admit_add(db);
	db->user = user;
	db->watcher = watcher;
	db->backoff_ms = DB_BACKOFF_FIRST_MS;
	db->is_first_round = true;
	db_queue_reset(&db->sent);
	db_queue_reset(&db->unsent);
	db->connect = evtimer_new(base, db_on_connect, db);
	db->deferred = event_new(base, -1, 0, db_on_deferred, db);
	if (!db->connect || !db->deferred || evtimer_add(db->connect, &now) < 0)
		die("could not make an event for the database connection");
	for (; channels && *channels; channels++)
		db_listen(db, *channels);
	return db;
}

void db_set(struct db *db, const char *setting, const char *value)
{
	db->setting = setting;
	db->value = value;
}

int db_server(const struct db *db)
{
	struct ucred server;
	bool local = db->state == DB_UP && socket_peer_read(PQsocket(db->conn), &server);
	return local && server.pid > 0 && server.uid == geteuid() ? server.pid : 0;
}
