/* gate_session.h - sessions of the HTTP API in PostgreSQL: several, so that a slow query does not delay others. For gate*.c
 * only. */
#ifndef ROTA_GATE_SESSION_H
#define ROTA_GATE_SESSION_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/db.h"

struct gate_sessions;
struct gate_query; /* a database query, valid from gate_session_query() until its answer */

/* Kinds of calls, which differ in the role and the settings of their database sessions. */
enum gate_session_kind {
	GATE_SESSION_LOCAL,	   /* calls by the Unix socket, or by HTTPS with a certificate of the user */
	GATE_SESSION_REMOTE,	   /* calls by HTTPS without a certificate of the user */
	GATE_SESSION_ADMIN,	   /* as GATE_SESSION_LOCAL, but of routes with the flag GATE_ADMIN */
	GATE_SESSION_STALE,	   /* as GATE_SESSION_LOCAL, for answers that may be old; closed until gate_sessions_wake() */
	GATE_SESSION_REMOTE_STALE, /* as GATE_SESSION_REMOTE, for answers that may be old; closed until gate_sessions_wake() */
};

/* Open the sessions for calls of one kind. Those for answers that may be old stay closed until gate_sessions_wake(). */
struct gate_sessions *gate_sessions_open(struct event_base *base, const struct conf *conf, enum gate_session_kind kind);

/* Close all sessions. Queries under way fail first, as in db_close. Queued queries are dropped without an answer. */
void gate_sessions_close(struct gate_sessions *sessions);

/* Is any of the sessions connected to PostgreSQL? */
bool gate_sessions_are_up(const struct gate_sessions *sessions);

/* Can the sessions be used: is one connected, and does none wait for a server that does not answer? */
bool gate_sessions_serve(const struct gate_sessions *sessions);

/* gate_sessions_wake: open the sessions for answers that may be old; queries wait until a server has answered.
 * gate_sessions_rest: close them again, unless a query is under way. */
void gate_sessions_wake(struct gate_sessions *sessions);
void gate_sessions_rest(struct gate_sessions *sessions);

/* Call an api function as db_call() does, as soon as a session is free. *running counts the queries of one client that are
 * under way, at most CLIENT_MOST. NULL: the query is no client's. */
struct gate_query *gate_session_query(struct gate_sessions *sessions, unsigned *running, enum api_function function,
				      const struct db_param *params, int count, db_answer *answer, void *arg);

/* Cancel a query that is still queued: `answer` is not called. Returns false if the query is already under way. */
bool gate_session_cancel(struct gate_query *query);

/* Open the session for notifications. `notified` is called after each notification, and after each reconnect, because
 * notifications may have been lost. */
struct gate_listen_session;
struct gate_listen_session *gate_listen_session_open(struct event_base *base, const struct conf *conf,
						     void (*notified)(void *arg), void *arg);
void gate_listen_session_close(struct gate_listen_session *listener);

#endif
