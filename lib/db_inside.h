/* db_inside.h - what db.c and db_connect.c know of a connection; nobody else includes it. */
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
	PGresult *result; /* what came so far; an error is never replaced */
	const char *function; /* NULL: none of the api's */
};

struct db_queue {
	struct db_sent *head, **tail;
};

/* BROKEN: a send failed; the event loop is about to find out. */
enum db_state { DB_DOWN, DB_CONNECTING, DB_PREPARING, DB_UP, DB_BROKEN, DB_CLOSED };

struct db {
	struct event_base *base;
	char **places; /* a connection string for each host that the configured one names */
	int place_count, place;
	int tried; /* places without success since the last pause */
	enum api_user user;
	const struct db_watcher *watcher;
	char **channels;
	int channel_count;
	PGconn *conn;
	enum db_state state;
	struct event *read, *write; /* of conn's socket */
	struct event *connect;	    /* timer: next attempt; while connecting, the end of this one */
	struct event *deferred;	    /* something to tell that db_call found out */
	struct db_queue sent, unsent;
	int backoff_ms;
	char failed[512]; /* why each place of this round failed */
	char told[512];	  /* the last reason given to `down` */
	int depth;	/* event handlers on the stack: db_close waits for the last */
};

/* Every event handler stands between these two; db_leave may free db. */
void db_enter(struct db *db);
void db_leave(struct db *db);

/* The connection is of no use any more: fail its calls, tell, and try again later. */
void db_lost(struct db *db, const struct err *e);
void db_lost_conn(struct db *db); /* with libpq's own words */

/* Close what was sent with a sync; `answer` is called when it comes. */
struct db_sent *db_send_end(struct db *db, bool sent, db_answer *answer, void *arg);
bool db_send_listen(struct db *db, const char *channel);

/* The connection string of the host at `place` alone, malloc'ed; NULL behind the last. */
char *db_conninfo_place(const char *conninfo, int place);

void db_on_socket(evutil_socket_t fd, short what, void *arg);  /* connected: answers, bells, room to send */
void db_on_connect(evutil_socket_t fd, short what, void *arg); /* time for the next attempt */

#endif
