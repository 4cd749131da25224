/* db_inside.h - the inside of a connection, for db.c and db_connect.c only. */
#ifndef ROTA_DB_INSIDE_H
#define ROTA_DB_INSIDE_H

#include "lib/db.h"

enum { DB_BACKOFF_FIRST_MS = 50, DB_BACKOFF_MOST_MS = 500 };

struct db_function {
	const char *name, *parameters; /* as in api.def */
	unsigned users;
};

extern const struct db_function db_functions[API_COUNT];

struct db_sent {
	struct db_sent *next;
	db_answer *answer;
	void *arg;
	PGresult *result; /* received so far; an error is never replaced */
	const char *function; /* NULL: no function of schema api */
};

struct db_queue {
	struct db_sent *head, **tail;
};

/* DB_BROKEN: a send failed; the event loop handles the loss next. */
enum db_state { DB_DOWN, DB_CONNECTING, DB_PREPARING, DB_UP, DB_BROKEN, DB_CLOSED };

struct db {
	struct event_base *base;
	char **places; /* a connection string for each host that the configured one names */
	int place_count, place;
	int tried; /* failed attempts since the last success */
	enum api_user user;
	const struct db_watcher *watcher;
	char **channels;
	int channel_count;
	PGconn *conn;
	enum db_state state;
	struct event *read, *write; /* of conn's socket */
	struct event *connect;	    /* timer: next attempt; while connecting, the end of this one */
	struct event *deferred;	    /* runs callbacks for db_call() */
	struct db_queue sent, unsent;
	int backoff_ms;
	char failed[512]; /* why each place of this round failed */
	char reported[512]; /* the last reason that `down` received */
	int depth;	/* event handlers on the stack: db_close waits for the last */
};

/* Every event handler calls db_enter first and db_leave last. db_leave may free db. */
void db_enter(struct db *db);
void db_leave(struct db *db);

/* Close the connection, fail its calls, report the loss, and schedule the next attempt. */
void db_lost(struct db *db, const struct err *e);
void db_lost_conn(struct db *db); /* with libpq's error message */

/* Send a sync after what was sent; `answer` is called when it comes back. */
struct db_sent *db_send_end(struct db *db, bool sent, db_answer *answer, void *arg);
bool db_send_listen(struct db *db, const char *channel);

/* The connection string of the host at `place` alone, malloc'ed; NULL behind the last. */
char *db_conninfo_place(const char *conninfo, int place);

void db_queue_reset(struct db_queue *q);

/* Callbacks of events: the connected socket is readable or writable; run the callbacks that db_call() may not run. */
void db_on_socket(evutil_socket_t fd, short what, void *arg);
void db_on_deferred(evutil_socket_t fd, short what, void *arg);

#endif
