/* gate_session.c - sessions of the HTTP API in PostgreSQL. A query that finds no free session waits in a queue.
 *
 * Called by: gate.c, which opens and closes the sessions; gate_call.c, which sends queries.
 * Invariants:
 * - A session has one query under way, so a slow query delays no other query.
 * - One client has at most CLIENT_MOST queries under way, so other clients find a free session. Calls that change the cluster are
 *   few, and not counted.
 * - Calls by HTTPS have sessions of their own with the setting rota.remote. SQL functions grant no role in them.
 * - Calls that change the cluster have sessions of their own, with another role of the database.
 * - Answers that may be old have sessions of their own, with any server; they are open only while none can be written to.
 * - Notifications have a session of their own, because PostgreSQL delivers them between queries only.
 * - Queries of one client need no order: a client sends the next request when it has the answer, which is committed by then. */
#include "jobmgr/gate/gate_session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/err.h"
#include "lib/log.h"

enum { SESSIONS = 4, ADMIN_SESSIONS = 2, STALE_SESSIONS = 2, CLIENT_MOST = SESSIONS - 1 };

struct session {
	struct gate_sessions *all;
	struct db *db;
	struct db_watcher watcher;
	/* number of queries under way, at most one; while the session is down, all queries that are about to fail */
	unsigned queries;
};

struct gate_query {
	struct gate_sessions *all;
	struct session *session; /* session that runs the query; NULL: the query is queued */
	unsigned *running;	 /* counter of the client's queries under way; NULL: the query is no client's */
	enum api_function function;
	struct db_param *params; /* copy of the parameters while the query is queued */
	int count;
	db_answer *answer;
	void *arg;
	TAILQ_ENTRY(gate_query) link;
};

struct gate_sessions {
	struct session session[SESSIONS];
	int count; /* number of sessions; 0: they are closed */
	enum gate_session_kind kind;
	struct event_base *base;
	const struct conf *conf;
	bool is_waking;			/* the sessions for old answers were opened, and no server has answered yet */
	TAILQ_HEAD(, gate_query) queue; /* queued queries, first in, first out */
};

struct gate_listen_session {
	struct db *db;
	struct db_watcher watcher;
	void (*notified)(void *arg);
	void *arg;
};

/* Queries. */

static struct db_param query_copy_param(const struct db_param *param)
{
	unsigned long size = !param->value ? 0 : param->size < 0 ? strlen(param->value) : (unsigned long)param->size;
	char *copy = param->value ? xmalloc(size + 1) : NULL;

	if (copy) {
		memcpy(copy, param->value, size);
		copy[size] = '\0';
	}
	return (struct db_param){copy, param->size};
}

static void query_enqueue(struct gate_query *query, const struct db_param *params, int count)
{
	query->params = xcalloc((unsigned long)count + 1, sizeof *params);
	query->count = count;
	for (int i = 0; i < count; i++)
		query->params[i] = query_copy_param(&params[i]);
	TAILQ_INSERT_TAIL(&query->all->queue, query, link);
}

static void query_free(struct gate_query *query)
{
	for (int i = 0; i < query->count; i++)
		free((char *)query->params[i].value);
	free(query->params);
	free(query);
}

static bool query_is_allowed(const struct gate_query *query)
{
	return !query->running || *query->running < CLIENT_MOST;
}

/* Remove a query from the queue, without an answer. */
static void query_dequeue(struct gate_query *query)
{
	TAILQ_REMOVE(&query->all->queue, query, link);
	query_free(query);
}

/* Returns a free session, or NULL if all connected sessions are busy. If no session is connected, returns the first one, on which
 * the query fails; but NULL while no server has answered yet (is_waking). */
static struct session *session_find_free(struct gate_sessions *sessions)
{
	struct session *pick = sessions->is_waking || sessions->count == 0 ? NULL : sessions->session;

	for (int i = 0; i < sessions->count; i++) {
		struct session *session = &sessions->session[i];

		if (!db_is_up(session->db))
			continue;
		if (session->queries == 0)
			return session;
		pick = NULL;
	}
	return pick;
}

static void sessions_send_queued(struct gate_sessions *sessions);

static void session_take_answer(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct gate_query *query = arg;

	query->session->queries--;
	if (query->running)
		--*query->running;
	sessions_send_queued(query->all);
	query->answer(db, result, e, query->arg);
	query_free(query);
}

static void session_send(struct gate_query *query, struct session *session, const struct db_param *params, int count)
{
	query->session = session;
	session->queries++;
	if (query->running)
		++*query->running;
	db_call(session->db, query->function, params, count, session_take_answer, query);
}

/* Send queued queries while there are free sessions. */
static void sessions_send_queued(struct gate_sessions *sessions)
{
	struct gate_query *query = TAILQ_FIRST(&sessions->queue), *next;
	struct session *session;

	for (; query && (session = session_find_free(sessions)); query = next) {
		next = TAILQ_NEXT(query, link);
		if (!query_is_allowed(query))
			continue;
		TAILQ_REMOVE(&sessions->queue, query, link);
		session_send(query, session, query->params, query->count);
	}
}

struct gate_query *gate_session_query(struct gate_sessions *sessions, unsigned *running, enum api_function function,
				      const struct db_param *params, int count, db_answer *answer, void *arg)
{
	struct gate_query *query = xcalloc(1, sizeof *query);
	struct session *session;

	query->all = sessions;
	query->running = running;
	query->function = function;
	query->answer = answer;
	query->arg = arg;
	session = query_is_allowed(query) ? session_find_free(sessions) : NULL;
	if (session)
		session_send(query, session, params, count);
	else
		query_enqueue(query, params, count);
	return query;
}

bool gate_session_cancel(struct gate_query *query)
{
	if (query->session)
		return false;
	query_dequeue(query);
	return true;
}

/* Sessions. */

/* The first session logs for all sessions. */
static bool session_is_first(const struct session *session)
{
	return session == session->all->session && session->all->kind == GATE_SESSION_LOCAL;
}

static void session_up(struct db *db, void *arg)
{
	struct session *session = arg;

	(void)db;
	session->all->is_waking = false;
	if (session_is_first(session))
		log_info("HTTP API: connected to the database");
	sessions_send_queued(session->all);
}

static void session_down(struct db *db, const struct err *e, void *arg)
{
	const struct session *session = arg;

	(void)db;
	if (session_is_first(session))
		log_warning("HTTP API: no connection to the database: %s", e->message);
	if (session->all->is_waking) {
		session->all->is_waking = false;
		sessions_send_queued(session->all); /* the queued queries fail */
	}
}

static void session_notified(struct db *db, const char *channel, void *arg)
{
	(void)db, (void)channel, (void)arg; /* the session listens to no channel */
}

static const struct {
	const char *role, *application;
	enum api_user user;
	int count;
	bool is_stale, is_remote;
} kinds[] = {
	[GATE_SESSION_LOCAL] = {"rota_jobmgr", "jobmgrd gate", API_JOBMGR, SESSIONS, false, false},
	[GATE_SESSION_REMOTE] = {"rota_jobmgr", "jobmgrd gate remote", API_JOBMGR, SESSIONS, false, true},
	[GATE_SESSION_ADMIN] = {"rota_jobmgr_admin", "jobmgrd gate admin", API_JOBMGR_ADMIN, ADMIN_SESSIONS, false, false},
	[GATE_SESSION_STALE] = {"rota_jobmgr", "jobmgrd gate stale", API_JOBMGR, STALE_SESSIONS, true, false},
	[GATE_SESSION_REMOTE_STALE] = {"rota_jobmgr", "jobmgrd gate remote stale", API_JOBMGR, STALE_SESSIONS, true, true},
};

static void session_open(struct session *session, const char *conninfo)
{
	const enum gate_session_kind kind = session->all->kind;

	session->watcher =
		(struct db_watcher){.up = session_up, .down = session_down, .notified = session_notified, .arg = session};
	session->db = db_open(session->all->base, conninfo, kinds[kind].user, NULL, &session->watcher);
	if (kinds[kind].is_remote)
		db_set(session->db, "rota.remote", "on");
}

static void sessions_connect(struct gate_sessions *sessions)
{
	char *(*make)(const struct conf *, const char *, const char *) =
		kinds[sessions->kind].is_stale ? db_conninfo_stale : db_conninfo;
	char *conninfo = make(sessions->conf, kinds[sessions->kind].role, kinds[sessions->kind].application);

	sessions->count = kinds[sessions->kind].count;
	for (int i = 0; i < sessions->count; i++)
		session_open(&sessions->session[i], conninfo);
	free(conninfo);
}

struct gate_sessions *gate_sessions_open(struct event_base *base, const struct conf *conf, enum gate_session_kind kind)
{
	struct gate_sessions *sessions = xcalloc(1, sizeof *sessions);

	TAILQ_INIT(&sessions->queue);
	sessions->kind = kind;
	sessions->base = base;
	sessions->conf = conf;
	for (int i = 0; i < SESSIONS; i++)
		sessions->session[i].all = sessions;
	if (!kinds[kind].is_stale)
		sessions_connect(sessions);
	return sessions;
}

void gate_sessions_wake(struct gate_sessions *sessions)
{
	if (sessions->count > 0)
		return;
	sessions->is_waking = true;
	sessions_connect(sessions);
}

void gate_sessions_rest(struct gate_sessions *sessions)
{
	if (!sessions || sessions->count == 0 || !TAILQ_EMPTY(&sessions->queue))
		return;
	for (int i = 0; i < sessions->count; i++)
		if (sessions->session[i].queries > 0)
			return;
	for (int i = 0; i < sessions->count; i++)
		db_close(sessions->session[i].db);
	sessions->count = 0;
	sessions->is_waking = false;
}

void gate_sessions_close(struct gate_sessions *sessions)
{
	if (!sessions)
		return;
	while (!TAILQ_EMPTY(&sessions->queue))
		query_dequeue(TAILQ_FIRST(&sessions->queue));
	for (int i = 0; i < sessions->count; i++)
		db_close(sessions->session[i].db);
	free(sessions);
}

bool gate_sessions_serve(const struct gate_sessions *sessions)
{
	for (int i = 0; i < sessions->count; i++)
		if (db_is_silent(sessions->session[i].db))
			return false;
	return gate_sessions_are_up(sessions);
}

bool gate_sessions_are_up(const struct gate_sessions *sessions)
{
	for (int i = 0; i < sessions->count; i++) {
		if (db_is_up(sessions->session[i].db))
			return true;
	}
	return false;
}

/* The session for notifications. */

/* Called when the session is connected again: calls `notified`, since notifications are lost while there is no connection. */
static void listener_up(struct db *db, void *arg)
{
	struct gate_listen_session *listener = arg;

	(void)db;
	listener->notified(listener->arg);
}

static void listener_down(struct db *db, const struct err *e, void *arg)
{
	(void)db, (void)e, (void)arg; /* session_down logs the error */
}

static void listener_notified(struct db *db, const char *channel, void *arg)
{
	(void)channel;
	listener_up(db, arg);
}

struct gate_listen_session *gate_listen_session_open(struct event_base *base, const struct conf *conf,
						     void (*notified)(void *arg), void *arg)
{
	static const char *const channels[] = {"rota_event", NULL};
	struct gate_listen_session *listener = xcalloc(1, sizeof *listener);
	char *conninfo = db_conninfo(conf, "rota_jobmgr", "jobmgrd gate");

	listener->notified = notified;
	listener->arg = arg;
	listener->watcher =
		(struct db_watcher){.up = listener_up, .down = listener_down, .notified = listener_notified, .arg = listener};
	listener->db = db_open(base, conninfo, 0, channels, &listener->watcher);
	free(conninfo);
	return listener;
}

void gate_listen_session_close(struct gate_listen_session *listener)
{
	if (!listener)
		return;
	db_close(listener->db);
	free(listener);
}
