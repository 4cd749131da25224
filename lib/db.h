/* db.h - asynchronous PostgreSQL on a libevent loop: one connection, calls of `api` functions, notifications.
 *
 * Invariants:
 * - Calls are pipelined: each is sent with one sync after it, and answered in the order of the calls. Each is a transaction of its
 *   own, except between db_read_begin() and db_read_end().
 * - api.def has the functions that C may call. Each is prepared at connect, so a database of another version is detected at once.
 * - A lost connection fails every call under way. The connection is made again; no call is sent twice.
 * - A server that lacks the newest incarnation of the database that this process has seen (db_seen.h) has an older copy, and is
 *   refused.
 * - A pooler in transaction mode is refused: a daemon needs a session of its own. */
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

/* Kinds of programs that connect. A daemon prepares the functions whose `users` in api.def has the bit of its kind. */
enum api_user {
	API_JOBMGR = 1,
	API_NODE = 2,
	API_NODEMGR = 4,
	API_RUNNER = 8,
	API_JOBMGR_LEADER = 16,
	API_JOBMGR_ADMIN = 32,
	API_CREDD = 64
};

struct db;

struct db_watcher {
	/* The connection is made, and all functions are prepared. */
	void (*up)(struct db *db, void *arg);
	/* The connection was lost, or could not be made. Calls under way have failed already. Called once for each new reason. */
	void (*down)(struct db *db, const struct err *e, void *arg);
	/* A NOTIFY arrived on `channel`. Its payload is ignored. */
	void (*notified)(struct db *db, const char *channel, void *arg);
	void *arg;
};

/* Refuse a configured connection string that goes over TCP with an sslmode that does not verify the server, unless
 * database.allow_unverified says so. Daemons call this at their start, and verbs before they connect. */
bool db_conninfo_check(const struct conf *conf, struct err *e);

/* Returns the malloc'ed connection string of a daemon: database.conninfo with the role and name of the daemon. Unless the
 * configured string sets them, parameters are added that require a writable server and detect a dead server. Over TCP, parameters
 * are added that verify the server. */
char *db_conninfo(const struct conf *conf, const char *role, const char *application);

/* Returns the connection string of a daemon for reads whose data may be old: as db_conninfo(), but to the first server that
 * answers, primary or standby. */
char *db_conninfo_stale(const struct conf *conf, const char *role, const char *application);

/* Make the connection string of a process manager: as db_conninfo(), with the role of node login `login` and the password file of
 * db_passfile(), whatever file the configured string names for the other daemons. */
char *db_conninfo_node(const struct conf *conf, const char *login, const char *application);

/* Returns the path of the file with the passwords of nodes, in the format of libpq; malloc'ed. */
char *db_passfile(const struct conf *conf);

/* How an interactive program chooses a server. db_conninfo_reader() makes its connection string, with the configured user if
 * `role` is NULL. It replaces target_session_attrs=read-write by primary, since the sessions of a role may be read-only by
 * default. */
enum db_reader {
	DB_READER_PRIMARY,
	DB_READER_LATE, /* where the configured string has several hosts, prefer a standby, which may be some transactions behind */
	DB_READER_STANDBY, /* prefer a standby, whatever the configured string says */
};
char *db_conninfo_reader(const struct conf *conf, const char *role, enum db_reader reader);

/* Returns the connection string of a program from one that its user typed, with the settings added that verify the server over
 * TCP. */
char *db_conninfo_verified(const char *conninfo);

/* Start to connect. `channels` is a NULL-terminated list of channels to LISTEN on, which happens before `up` is called. The
 * caller keeps `watcher` alive. Where the connection string has several hosts, each is tried in turn for at most connect_timeout.
 * A single host that was reached gets six times as long to answer, and up to 24 times as long if it was late before. The pause
 * after a round is 50 ms and doubles up to 500 ms. A host that was late is passed over for a while, as long as another one is
 * left. Through a pooler in session mode, each connection needs a second one for a moment. Where the server is silent for some
 * seconds while a call is under way, the other hosts are tried. If one of them can be written to, the connection is lost and made
 * to that one. */
struct db *db_open(struct event_base *base, const char *conninfo, enum api_user user, const char *const *channels,
		   const struct db_watcher *watcher);

/* Close the connection. The callbacks of calls under way get an error, and no other callback follows. May be called in any
 * callback. */
void db_close(struct db *db);
bool db_is_up(const struct db *db);
/* Returns true if the server has not answered a call for some seconds. Always false if the connection string has one host. */
bool db_is_silent(const struct db *db);
/* Returns the name of an api function, as in api.def. */
const char *db_function_name(enum api_function function);

/* Returns the pid of the postmaster if the connection is a Unix socket and the postmaster runs as the same user, else 0. */
int db_server(const struct db *db);

/* Have each session of this connection execute SET before `up` is called; if SET fails, there is no connection. Call it once,
 * right after db_open(). The caller keeps the strings. */
void db_set(struct db *db, const char *setting, const char *value);

/* LISTEN on another channel, on the present connection and every later one. */
void db_listen(struct db *db, const char *channel);

/* A parameter of an api function. A `value` of NULL is SQL null. */
struct db_param {
	const char *value;
	int size; /* -1: value is NUL-terminated text; else the number of raw bytes in value, which are sent in binary */
};

/* Callback for the answer of a call. `result` is valid during the callback, and the transaction of the call is committed. If
 * `result` is NULL, the call failed, and e->code is the SQLSTATE. "08006": the connection was lost, and the outcome of the call
 * is unknown. "08003": there was no connection to a writable server, and the call did nothing. The callback never runs before
 * db_call() returns. */
typedef void db_answer(struct db *db, PGresult *result, const struct err *e, void *arg);

/* Returns the value of a column of an answer as text, "" for null. A missing column ends the process, since the database then has
 * functions of another version. */
const char *db_text(const PGresult *result, int row, const char *column);
bool db_is_null(const PGresult *result, int row, const char *column);

/* Call one function of schema `api`. db_call() copies the parameters. */
void db_call(struct db *db, enum api_function function, const struct db_param *params, int count, db_answer *answer, void *arg);

/* Let all calls between db_read_begin() and db_read_end() see the database as it was at one moment: one transaction that reads. The
 * caller makes these calls at once, before it returns to the event loop. A call that writes fails. If one of the calls fails, those
 * after it fail too. */
void db_read_begin(struct db *db);
void db_read_end(struct db *db);

/* Build a PostgreSQL array literal for a parameter in text form: db_array_new, add the elements in order, db_array_literal. */
struct db_array;
struct db_array *db_array_new(void);
void db_array_int(struct db_array *a, int64_t value);
void db_array_text(struct db_array *a, const char *value);	     /* NULL = null element */
void db_array_bytes(struct db_array *a, const void *data, int size); /* as bytea hex */
const char *db_array_literal(struct db_array *a);		     /* owned by a, valid until the next add */
void db_array_free(struct db_array *a);

#endif
