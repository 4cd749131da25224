/* db_pooler.c - tells a pooler in session mode, which daemons can use, from one in transaction mode, which they cannot.
 *
 * Called by: db_connect.c for a connection through a pooler; db.c for its notifications; then the event loop.
 * Invariants:
 * - The connection listens on a channel of its own. While it is idle, a second connection sends a notification on that
 *   channel. The first connection receives it if it has a session of its own. In transaction mode an idle client has no
 *   session, so PgBouncer drops the notification, or the second connection receives it.
 * - Until the notification is received, no other call is made on the first connection: a call would give it a session for a
 *   moment, in transaction mode too.
 * - The second connection needs one more place in the pool, until the notification is committed. */
#include "lib/db_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct db_pooler {
	struct db *db;
	const struct db_pooler_watcher *watcher;
	char channel[32];
	PGconn *second;
	struct event *ready; /* event of the socket of `second` */
	bool is_asked;	     /* `second` has sent the notification */
	bool is_notified;    /* the notification is committed */
};

struct db_pooler *db_pooler_new(struct db *db, const struct db_pooler_watcher *watcher)
{
	struct db_pooler *p = xcalloc(1, sizeof *p);
	uint64_t number;
	evutil_secure_rng_get_bytes(&number, sizeof number);
	snprintf(p->channel, sizeof p->channel, "rota_own_%016llx", (unsigned long long)number);
	p->db = db;
	p->watcher = watcher;
	return p;
}

static void second_end(struct db_pooler *p)
{
	if (p->ready)
		event_free(p->ready);
	p->ready = NULL;
	PQfinish(p->second);
	p->second = NULL;
}

void db_pooler_free(struct db_pooler *p)
{
	if (!p)
		return;
	second_end(p);
	free(p);
}

const char *db_pooler_channel(const struct db_pooler *p)
{
	return p->channel;
}

bool db_pooler_take(struct db_pooler *p, const char *channel)
{
	if (!p || strcmp(channel, p->channel) != 0)
		return false;
	p->watcher->is_own(p->db);
	return true;
}

void db_pooler_objection(const struct db_pooler *p, const char *host, int seconds, struct err *e)
{
	if (p->is_notified)
		err_set(e,
			"the database at \"%s\" is behind a pooler in transaction mode, which gives each transaction another "
			"session: "
			"set pool_mode = session, or name the database servers themselves in database.conninfo",
			host);
	else
		err_set(e,
			"the pooler before the database at \"%s\" gave no second connection within %d seconds: raise its "
			"default_pool_size, or name the database servers themselves in database.conninfo",
			host, seconds);
	strcpy(e->code, "08001");
}

static void second_failed(struct db_pooler *p)
{
	struct err e;
	char text[400];
	snprintf(text, sizeof text, "%s", p->second ? PQerrorMessage(p->second) : "out of memory");
	text[strcspn(text, "\r\n")] = '\0';
	err_set(&e, "the pooler before the database gave no second connection: %s", text);
	strcpy(e.code, "08006");
	p->watcher->refused(p->db, &e);
}

static void second_wait(struct db_pooler *p, short what);

/* Read the part of the NOTIFY's answer that has arrived. Returns true if the answer is complete. */
static bool second_is_answered(struct db_pooler *p)
{
	PGresult *answer;

	do {
		if (PQisBusy(p->second))
			return false;
		answer = PQgetResult(p->second);
		p->is_notified |= PQresultStatus(answer) == PGRES_COMMAND_OK;
		PQclear(answer);
	} while (answer);
	return true;
}

/* Go on with the second connection: send the notification once it is connected, close it once the notification is committed. */
static void second_go_on(struct db_pooler *p)
{
	bool alive;
	PGnotify *own;
	char sql[64];
	struct err e;

	if (p->is_asked) {
		alive = PQconsumeInput(p->second);
	} else {
		snprintf(sql, sizeof sql, "notify %s", p->channel);
		alive = p->is_asked = PQsendQuery(p->second, sql);
	}
	if (alive && !second_is_answered(p)) {
		second_wait(p, EV_READ);
		return;
	}
	if (!p->is_notified) {
		second_failed(p);
		return;
	}
	own = PQnotifies(p->second);
	if (own) {
		PQfreemem(own);
		db_pooler_objection(p, PQhost(p->second), 0, &e);
		p->watcher->refused(p->db, &e);
		return;
	}
	second_end(p);
	p->watcher->notified(p->db);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	struct db_pooler *p = arg;
	event_free(p->ready);
	p->ready = NULL;
	PostgresPollingStatusType status = p->is_asked ? PGRES_POLLING_OK : PQconnectPoll(p->second);
	if (status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING)
		second_wait(p, status == PGRES_POLLING_READING ? EV_READ : EV_WRITE);
	else if (status == PGRES_POLLING_OK)
		second_go_on(p);
	else
		second_failed(p);
}

static void second_wait(struct db_pooler *p, short what)
{
	p->ready = event_new(p->db->base, PQsocket(p->second), what, on_second, p);
	if (!p->ready || event_add(p->ready, NULL) < 0)
		die("could not make an event for the database connection");
}

void db_pooler_notify(struct db_pooler *p)
{
	p->second = PQconnectStart(p->db->places[p->db->place]);
	if (p->second && PQstatus(p->second) != CONNECTION_BAD)
		second_wait(p, EV_WRITE);
	else
		second_failed(p);
}
