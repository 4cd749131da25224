/* db.h - asynchronous PostgreSQL on a libevent loop: one connection, calls of `api` functions, bells.
 *
 * Non-blocking and pipelined: each call is sent with one sync behind it and answered first in, first out. What C may call
 * stands in api.def; each is prepared at connect, so a daemon that does not fit its database finds out before it serves. A lost
 * connection fails every call under way and reconnects by itself; nothing is sent twice. Where the connection string names several
 * hosts they are tried in turn, each for connect_timeout at the most, with a pause after each round (50 ms, doubling to 500 ms). */
#ifndef ROTA_DB_H
#define ROTA_DB_H

#include <event2/event.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/conf.h"
#include "lib/err.h"

/* The functions of schema `api` that C may call: one constant for each line of api.def. */
enum api_function {
#define API(function, parameters, users) API_##function,
#include "lib/api.def"
#undef API
	API_COUNT
};

/* Who connects: a daemon prepares the functions that its users mask names. */
enum api_user { API_JOBMGR = 1, API_NODE = 2, API_NODEMGR = 4, API_RUNNER = 8 };

struct db;

struct db_watcher {
	void (*up)(struct db *db, void *arg);				 /* connected and prepared: load state, first tick */
	void (*down)(struct db *db, const struct err *e, void *arg);	 /* connection lost (calls have already failed), or not to be
									    had: told once for each new reason */
	void (*notified)(struct db *db, const char *channel, void *arg); /* NOTIFY; payloads are ignored */
	void *arg;
};

/* The connection string of a program: the configured one with its role and name put in, and with what a daemon needs where it
 * says nothing of that: a server that can be written to, and a dead one noticed; malloc'ed. */
char *db_conninfo(const struct conf *conf, const char *role, const char *application);

/* The same for people: where the configured one wants a server that can be written to, the primary, whatever they may do there. */
char *db_conninfo_reader(const struct conf *conf, const char *role);

/* Begin to connect. `channels` is NULL-terminated and may be empty; LISTEN is sent before `up`. The caller keeps `watcher`. */
struct db *db_open(struct event_base *base, const char *conninfo, enum api_user user, const char *const *channels,
		   const struct db_watcher *watcher);

/* Calls under way fail first, as on a loss; no other call back is made after that. Good inside any call back. */
void db_close(struct db *db);
bool db_is_up(const struct db *db);

/* The process id of the server's first process, where it runs on this host as the same user, and is reached through its socket; else 0. */
int db_server(const struct db *db);

/* Also LISTEN to `channel` (on this and every later connection). */
void db_listen(struct db *db, const char *channel);

/* A parameter: text form; binary bytes for bytea when `size` >= 0. NULL value = SQL null. */
struct db_param {
	const char *value;
	int size; /* -1: NUL-terminated text; else that many raw bytes, sent in binary */
};

/* The answer: `result` is lent for the length of the call back and NULL on failure, where `e` tells (SQLSTATE in e->code;
 * "08006" when the connection was lost: the outcome is then unknown; "08003" when there was none, or none to a server that can be written to: nothing was done). It never
 * comes before db_call has returned; with a result, the transaction is committed. */
typedef void db_answer(struct db *db, PGresult *result, const struct err *e, void *arg);

/* A column of an answer as text, "" for null. A missing column ends the process: the database is of another version. */
const char *db_text(const PGresult *result, int row, const char *column);
bool db_is_null(const PGresult *result, int row, const char *column);

/* Call one api function. Parameters are copied before it returns. */
void db_call(struct db *db, enum api_function function, const struct db_param *params, int count, db_answer *answer, void *arg);

/* Build PostgreSQL array literals for text-form parameters: db_array_new, then add in order, then take the text. */
struct db_array;
struct db_array *db_array_new(void);
void db_array_int(struct db_array *a, int64_t value);
void db_array_text(struct db_array *a, const char *value);  /* NULL = null element */
void db_array_bytes(struct db_array *a, const void *data, int size); /* as bytea hex */
const char *db_array_literal(struct db_array *a);	     /* owned by a, valid until the next add */
void db_array_free(struct db_array *a);

#endif
