/* db.h - asynchronous PostgreSQL on a libevent loop: one connection, calls of `api` functions, notifications.
 *
 * Invariants:
 * - Calls are pipelined: each is sent with one sync after it, and answered in the order of the calls.
 * - api.def has the functions that C may call. Each is prepared at connect, so a daemon detects a database of another version at once.
 * - A lost connection fails every call under way. The connection is made again; no call is sent twice.
 * - Where the connection string has several hosts, each is tried in turn for at most connect_timeout. The pause after a round is 50 ms and
 *   doubles up to 500 ms. */
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

/* Who connects. A daemon prepares the functions whose `users` in api.def has its bit. */
enum api_user { API_JOBMGR = 1, API_NODE = 2, API_NODEMGR = 4, API_RUNNER = 8 };

struct db;

struct db_watcher {
	void (*up)(struct db *db, void *arg);				 /* connected and prepared */
	void (*down)(struct db *db, const struct err *e, void *arg);	 /* connection lost (its calls have failed already), or no
									    connection possible; called once for each new reason */
	void (*notified)(struct db *db, const char *channel, void *arg); /* NOTIFY; payloads are ignored */
	void *arg;
};

/* The connection string of a daemon: the configured one with the daemon's role and name. Where it does not set them, it gets
 * target_session_attrs for a writable server and the parameters that detect a dead one; malloc'ed. */
char *db_conninfo(const struct conf *conf, const char *role, const char *application);

/* The same for interactive use: the primary instead of a writable server, since a role may be read-only by default. */
char *db_conninfo_reader(const struct conf *conf, const char *role);

/* Start to connect. `channels` is NULL-terminated and may be empty; LISTEN is sent before `up`. The caller keeps `watcher` alive. */
struct db *db_open(struct event_base *base, const char *conninfo, enum api_user user, const char *const *channels,
		   const struct db_watcher *watcher);

/* Close the connection: calls under way fail first, as on a loss; no other callback follows. May be called in any callback. */
void db_close(struct db *db);
bool db_is_up(const struct db *db);

/* The pid of the postmaster, where it runs on this host as the same user and the connection is a Unix socket; else 0. */
int db_server(const struct db *db);

/* Also LISTEN to `channel`, on this and every later connection. */
void db_listen(struct db *db, const char *channel);

/* A parameter: text form; binary bytes for bytea when `size` >= 0. NULL value = SQL null. */
struct db_param {
	const char *value;
	int size; /* -1: NUL-terminated text; else that many raw bytes, sent in binary */
};

/* The answer of a call. `result` is valid during the callback; its transaction is committed. NULL: the call failed, and `e` has the
 * SQLSTATE in e->code. "08006": the connection was lost and the outcome is unknown. "08003": there was no connection to a writable server, and
 * nothing was done. The callback never runs before db_call returns. */
typedef void db_answer(struct db *db, PGresult *result, const struct err *e, void *arg);

/* A column of an answer as text, "" for null. A missing column ends the process: the database is of another version. */
const char *db_text(const PGresult *result, int row, const char *column);
bool db_is_null(const PGresult *result, int row, const char *column);

/* Call one api function. It copies the parameters. */
void db_call(struct db *db, enum api_function function, const struct db_param *params, int count, db_answer *answer, void *arg);

/* Build a PostgreSQL array literal for a parameter in text form: db_array_new, add the elements in order, db_array_literal. */
struct db_array;
struct db_array *db_array_new(void);
void db_array_int(struct db_array *a, int64_t value);
void db_array_text(struct db_array *a, const char *value);  /* NULL = null element */
void db_array_bytes(struct db_array *a, const void *data, int size); /* as bytea hex */
const char *db_array_literal(struct db_array *a);	     /* owned by a, valid until the next add */
void db_array_free(struct db_array *a);

#endif
