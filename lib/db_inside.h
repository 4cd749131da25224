/* db_inside.h - the private structures of a database connection, for db.c, db_connect.c, db_admit.c, db_pooler.c, db_silence.c and
 * db_conninfo.c only. */
#ifndef ROTA_DB_INSIDE_H
#define ROTA_DB_INSIDE_H

#include "lib/db.h"
#include "lib/db_seen.h"

enum { DB_BACKOFF_FIRST_MS = 50, DB_BACKOFF_MOST_MS = 500, DB_BACKOFF_REFUSED_MS = 2000 };

struct db_function {
	const char *name, *parameters; /* name and parameter types of an api function, as in api.def */
	unsigned users;
};

extern const struct db_function db_functions[API_COUNT];

struct db_sent {
	struct db_sent *next;
	db_answer *answer;
	void *arg;
	PGresult *result;     /* latest result of the call; an error is never replaced by a later result */
	const char *function; /* name of the api function; NULL: the call is not of an api function */
};

struct db_queue {
	struct db_sent *head, **tail;
};

/* DB_BROKEN: the connection is unusable, and the event loop handles its loss next. */
enum db_state { DB_DOWN, DB_CONNECTING, DB_PREPARING, DB_UP, DB_BROKEN, DB_CLOSED };

struct db {
	struct event_base *base;
	char **places; /* one connection string for each host in the configured connection string */
	int place_count, place;
	int64_t *late_until;  /* for each host: clock_ms() until which it is passed over, as it did not answer in time */
	int tried;	      /* hosts of the present round that failed or were passed over */
	bool has_passed_over; /* a host was passed over in the present round */
	bool is_round_over;   /* the next attempt begins a round */
	bool is_first_round;  /* no round has ended since the connection was opened or lost */
	/* failed attempts since the last success in which the only host was reached, and did not answer in time */
	int late;
	bool is_reached; /* the host of the present attempt to connect has accepted the connection */
	int limit_ms;	 /* deadline of the present attempt, from its start, or from the moment when it reached the host */
	enum api_user user;
	const struct db_watcher *watcher;
	char **channels;
	int channel_count;
	const char *setting, *value; /* a setting that each session makes with SET; NULL: none */
	PGconn *conn;
	enum db_state state;
	struct event *read, *write; /* events of the socket of `conn` */
	struct event *connect;	    /* timer for the next attempt to connect, and for the deadline of the present one */
	struct db_silence *silence; /* struct of db_silence.c; NULL if the connection string has one host */
	struct db_pooler *pooler;   /* struct of db_pooler.c; NULL unless it is finding out the mode of a pooler */
	struct event *deferred;	    /* runs the callbacks of calls that db_call() could not send */
	struct db_queue sent, unsent;
	int backoff_ms;
	char failed[512];	 /* error of each host that was tried in the present round */
	char reported[512];	 /* latest error message that was passed to the callback `down` */
	struct db_seen asked;	 /* incarnation that this process had seen when it asked the server for its own */
	struct db_seen admitted; /* incarnation of the server of `conn`, once the connection is up */
	char started[32];	 /* start time of the server of `conn`, which tells two servers apart */
	bool is_pooled;		 /* the connection is through a pooler */
	struct db *next;	 /* list of all connections of this process; db_admit.c */
	int depth;		 /* event handlers on the stack; the connection is freed only after the outermost one */
};

/* Every event handler calls db_enter() first and db_leave() last. db_leave() may free `db`. */
void db_enter(struct db *db);
void db_leave(struct db *db);

/* Close a connection that was lost, fail the calls under way, report the loss, and schedule the next attempt to connect. */
void db_lost(struct db *db, const struct err *e);
/* Call db_lost() with the error message of libpq. */
void db_lost_conn(struct db *db);

/* Send a sync after a call; `answer` is called when the sync comes back. `sent` is false if sending the call failed. */
struct db_sent *db_send_end(struct db *db, bool sent, db_answer *answer, void *arg);
bool db_send_listen(struct db *db, const char *channel);

/* Returns a malloc'ed connection string that has only host number `place` of those in `conninfo`. Returns NULL after the last
 * host. */
char *db_conninfo_place(const char *conninfo, int place);

/* db_admit.c: ask a server which incarnation of the database it has, with the last command that a connection sends at its start,
 * and judge the answer. db_admit() refuses an older copy. db_admit_add: `db` is a connection of this process, until
 * db_admit_remove(). */
bool db_admit_send(PGconn *conn, const struct db_seen *seen);
bool db_admit_is_newer(const struct db *db, const PGresult *answer); /* true: another server answered, with a newer incarnation */
bool db_admit(struct db *db, const PGresult *answer, struct err *e);
void db_admit_add(struct db *db);
void db_admit_remove(struct db *db);

/* db_pooler.c: find out whether an idle connection through a pooler keeps its session, by a notification on db_pooler_channel().
 * The caller makes the connection listen on this channel before it calls db_pooler_notify(). */
struct db_pooler_watcher {
	void (*is_own)(struct db *db);	 /* `db` has received the notification, so it has a session of its own */
	void (*notified)(struct db *db); /* the notification is committed; it arrives soon, or never */
	void (*refused)(struct db *db, const struct err *e);
};
struct db_pooler *db_pooler_new(struct db *db, const struct db_pooler_watcher *watcher);
const char *db_pooler_channel(const struct db_pooler *p);
void db_pooler_notify(struct db_pooler *p);
/* Returns true, and calls is_own(), if a notification on `channel` is the one that `p` sent. `p` may be NULL. */
bool db_pooler_take(struct db_pooler *p, const char *channel);
/* Set the error of a connection that has waited for `seconds` seconds, or that was shown not to keep its session. */
void db_pooler_objection(const struct db_pooler *p, const char *host, int seconds, struct err *e);
void db_pooler_free(struct db_pooler *p);

void db_ping(struct db *db); /* send a call that does nothing, to see whether the server answers */

void db_queue_reset(struct db_queue *q);

/* db_silence.c: look for another host when the server does not answer. With one host, `s` is NULL and the functions do
 * nothing. */
struct db_silence *db_silence_new(struct db *db, void (*ping)(struct db *db));
void db_silence_free(struct db_silence *s);
void db_silence_up(struct db_silence *s);	/* the connection is made */
void db_silence_sent(struct db_silence *s);	/* a call was sent */
void db_silence_received(struct db_silence *s); /* the server has sent something */

/* Event handlers. db_on_socket: the socket is readable or writable. db_on_deferred: fail the calls that db_call() could not
 * send. */
void db_on_socket(evutil_socket_t fd, short what, void *arg);
void db_on_deferred(evutil_socket_t fd, short what, void *arg);

#endif
