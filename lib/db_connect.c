/* db_connect.c - the way up: connect without blocking, prepare what api.def names for this user, listen, then `up`.
 *
 * Called by the event loop alone, first from db_open's timer and again after each loss. What always holds: the socket is watched
 * through `read` only (while connecting) until it is prepared. libpq resolves host names by waiting: where that may take long,
 * the connection string should say hostaddr. */
#include "lib/db_inside.h"

#include <stdio.h>
#include <string.h>

#include "lib/log.h"

enum { CONNECT_SECONDS = 10 };

/* Everything is prepared and listened to, or the database does not fit this program. */
static void on_prepared(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)arg;
	if (db->state != DB_PREPARING)
		return;
	if (!result) {
		struct err misfit = *e;
		if (strncmp(e->code, "42", 2) == 0) { /* a function is missing or not ours to call */
			err_set(&misfit, "the database does not fit this program: %.400s", e->message);
			err_hint(&misfit, "bring it up to date with \"rota admin db upgrade\"");
			memcpy(misfit.code, e->code, sizeof misfit.code);
		}
		db_lost(db, &misfit);
		return;
	}
	db->state = DB_UP;
	db->backoff_ms = DB_BACKOFF_FIRST_MS;
	db->told[0] = '\0';
	db->watcher->up(db, db->watcher->arg);
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

static void on_notice(void *arg, const PGresult *result)
{
	(void)arg;
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	log_debug("database: %s", message ? message : "notice");
}

/* Connected: prepare and listen in one round trip. */
static void db_prepare(struct db *db)
{
	int fd = PQsocket(db->conn);
	db->read = event_new(db->base, fd, EV_READ | EV_PERSIST, db_on_socket, db);
	db->write = event_new(db->base, fd, EV_WRITE, db_on_socket, db);
	if (!db->read || !db->write || event_add(db->read, NULL) < 0)
		die("no event for the database connection");
	PQsetNoticeReceiver(db->conn, on_notice, NULL);
	bool sent = PQsetnonblocking(db->conn, 1) == 0 && PQenterPipelineMode(db->conn);
	for (int i = 0; sent && i < API_COUNT; i++)
		if (db_functions[i].users & (unsigned)db->user)
			sent = send_prepare(db, i);
	for (int i = 0; sent && i < db->channel_count; i++)
		sent = db_send_listen(db, db->channels[i]);
	db->state = DB_PREPARING;
	db_send_end(db, sent, on_prepared, NULL);
}

static void on_connecting(evutil_socket_t fd, short what, void *arg);

/* libpq wants to read or write: the socket may be another one each time. */
static void connect_wait(struct db *db, short what)
{
	struct timeval limit = {CONNECT_SECONDS, 0};
	db->read = event_new(db->base, PQsocket(db->conn), what, on_connecting, db);
	if (!db->read || event_add(db->read, &limit) < 0)
		die("no event for the database connection");
}

static void on_connecting(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	struct db *db = arg;
	struct err e;
	db_enter(db);
	event_free(db->read);
	db->read = NULL;
	PostgresPollingStatusType status = what & EV_TIMEOUT ? PGRES_POLLING_FAILED : PQconnectPoll(db->conn);
	if (status == PGRES_POLLING_OK)
		db_prepare(db);
	else if (status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING)
		connect_wait(db, status == PGRES_POLLING_READING ? EV_READ : EV_WRITE);
	else if (what & EV_TIMEOUT) {
		err_set(&e, "database connection: no answer within %d seconds", (int)CONNECT_SECONDS);
		strcpy(e.code, "08006");
		db_lost(db, &e);
	} else
		db_lost_conn(db);
	db_leave(db);
}

void db_on_connect(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	struct db *db = arg;
	db_enter(db);
	db->state = DB_CONNECTING;
	db->conn = PQconnectStart(db->conninfo);
	if (db->conn && PQstatus(db->conn) != CONNECTION_BAD)
		connect_wait(db, EV_WRITE);
	else
		db_lost_conn(db);
	db_leave(db);
}
