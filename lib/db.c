/* db.c - one pipelined libpq connection on a libevent loop: calls, answers, notifications, loss of the connection.
 * db_connect.c connects.
 *
 * Called by: all daemons, each from its one thread.
 * Invariants:
 * - Nothing blocks.
 * - The queue `sent` has the calls that are sent and not answered, each followed by one sync, in the order in which their
 *   answers come.
 * - The callbacks (answers and the watcher's) run from the event loop or db_close(), never from db_call().
 * - Between the loss of a connection and the next callback `up` no call is sent. */
#include "lib/db_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/log.h"

enum { PARAMETERS_MOST = 16, CHANNEL_LONGEST = 63 };

const struct db_function db_functions[API_COUNT] = {
#define API(function, parameters, users) [API_##function] = {#function, parameters, users},
#include "lib/api.def"
#undef API
};

/* queues of calls */

void db_queue_reset(struct db_queue *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static struct db_sent *queue_add(struct db_queue *q, db_answer *answer, void *arg)
{
	struct db_sent *call = xcalloc(1, sizeof *call);
	call->answer = answer;
	call->arg = arg;
	*q->tail = call;
	q->tail = &call->next;
	return call;
}

static struct db_sent *queue_take(struct db_queue *q)
{
	struct db_sent *call = q->head;
	q->head = call->next;
	if (!q->head)
		q->tail = &q->head;
	return call;
}

static void sent_free(struct db_sent *call)
{
	PQclear(call->result);
	free(call);
}

/* Fail the calls that are in the queue now. Calls that their callbacks add stay in the queue. */
static void queue_fail(struct db *db, struct db_queue *q, const struct err *e)
{
	struct db_sent *call = q->head, *next;
	db_queue_reset(q);
	for (; call; call = next) {
		next = call->next;
		call->answer(db, NULL, e, call->arg);
		sent_free(call);
	}
}

/* loss of a connection */

static void db_disconnect(struct db *db)
{
	if (db->read)
		event_free(db->read);
	if (db->write)
		event_free(db->write);
	db->read = db->write = NULL;
	db_pooler_free(db->pooler);
	db->pooler = NULL;
	PQfinish(db->conn);
	db->conn = NULL;
}

void db_enter(struct db *db)
{
	db->depth++;
}

void db_leave(struct db *db)
{
	if (--db->depth > 0 || db->state != DB_CLOSED)
		return;
	struct err e;
	err_set(&e, "the database connection was closed");
	strcpy(e.code, "08006");
	db_disconnect(db);
	queue_fail(db, &db->sent, &e);
	queue_fail(db, &db->unsent, &e);
	while (db->unsent.head) /* drop the calls that the callbacks have added */
		sent_free(queue_take(&db->unsent));
	db_silence_free(db->silence);
	db_admit_remove(db);
	event_free(db->connect);
	event_free(db->deferred);
	for (int i = 0; i < db->channel_count; i++)
		free(db->channels[i]);
	free(db->channels);
	for (int i = 0; i < db->place_count; i++)
		free(db->places[i]);
	free(db->places);
	free(db->late_until);
	free(db);
}

/* Set the error to the first line of libpq's error message. */
static void conn_error(const PGconn *conn, struct err *e)
{
	char text[sizeof e->message];
	snprintf(text, sizeof text, "%s", conn ? PQerrorMessage(conn) : "out of memory");
	text[strcspn(text, "\r\n")] = '\0';
	err_set(e, "database connection: %s", *text ? text : "lost");
	strcpy(e->code, "08006");
}

/* Schedule the next attempt to connect: at once while hosts are left in this round, else after a pause that grows from round to
 * round. A part of the pause is random, so that not all daemons connect at the same moment when a server comes back. */
static void db_schedule_attempt(struct db *db)
{
	struct timeval wait = {0, 0};
	if (db->is_round_over) {
		uint16_t part;
		evutil_secure_rng_get_bytes(&part, sizeof part);
		int ms = db->backoff_ms / 2 + db->backoff_ms * part / 2 / UINT16_MAX;
		wait = (struct timeval){ms / 1000, ms % 1000 * 1000};
		db->backoff_ms = db->backoff_ms * 2 < DB_BACKOFF_MOST_MS ? db->backoff_ms * 2 : DB_BACKOFF_MOST_MS;
	}
	evtimer_add(db->connect, &wait);
}

/* Report the loss of the connection to the watcher, unless the last report had the same reason. */
static void db_report_down(struct db *db, const struct err *e)
{
	if (strcmp(db->reported, e->message) == 0)
		return;
	snprintf(db->reported, sizeof db->reported, "%s", e->message);
	db->watcher->down(db, e, db->watcher->arg);
}

/* Returns true if the connection string has a host that is not passed over for a late answer. */
static bool db_has_prompt_place(const struct db *db, int64_t now)
{
	int place = 0;
	while (place < db->place_count && db->late_until[place] > now)
		place++;
	return place < db->place_count;
}

/* Go on to the next host. After the last host of a round, report the errors of all hosts, if all were tried. */
static void db_place_next(struct db *db, const struct err *e)
{
	struct err all = *e;
	db->place = (db->place + 1) % db->place_count;
	db->tried = (db->tried + 1) % db->place_count;
	if (db->tried > 0)
		return;
	snprintf(all.message, sizeof all.message, "%s", db->failed);
	db->failed[0] = '\0';
	if (!db->has_passed_over) /* else rounds with different hosts would each report another reason */
		db_report_down(db, &all);
	db->has_passed_over = false;
	db->is_round_over = true;
	db->is_first_round = false;
}

/* Record the error of a host that could not be reached. Hosts whose answer was late are passed over for a while, since each
 * attempt to reach one takes its whole time limit. */
static void db_place_failed(struct db *db, const struct err *e)
{
	int64_t now = clock_ms();
	size_t length = strlen(db->failed);
	snprintf(db->failed + length, sizeof db->failed - length, "%s%s", length ? "; " : "", e->message);
	db->is_round_over = false;
	db_place_next(db, e);
	while (db->late_until[db->place] > now && db_has_prompt_place(db, now)) {
		db->has_passed_over = true;
		db_place_next(db, e);
	}
}

void db_lost(struct db *db, const struct err *e)
{
	bool was_up = db->state == DB_UP || db->state == DB_BROKEN;
	db_disconnect(db);
	db->state = DB_DOWN;
	db->is_round_over = true;
	db->is_first_round |= was_up;
	queue_fail(db, &db->sent, e);
	if (db->state != DB_CLOSED && was_up)
		db_report_down(db, e);
	else if (db->state != DB_CLOSED)
		db_place_failed(db, e);
	if (db->state != DB_CLOSED)
		db_schedule_attempt(db);
}

void db_lost_conn(struct db *db)
{
	struct err e;
	conn_error(db->conn, &e);
	db_lost(db, &e);
}

/* sending of calls */

/* Send the data that libpq has buffered. The write event is active only while the socket takes no more data. */
static bool db_flush(struct db *db)
{
	int rest = PQflush(db->conn);
	if (rest == 1)
		event_add(db->write, NULL);
	return rest >= 0;
}

struct db_sent *db_send_end(struct db *db, bool sent, db_answer *answer, void *arg)
{
	struct db_sent *call = queue_add(&db->sent, answer, arg);
	db_silence_sent(db->silence);
	if (sent && PQpipelineSync(db->conn) && db_flush(db))
		return call;
	if (db->state != DB_CLOSED)
		db->state = DB_BROKEN;
	event_active(db->deferred, 0, 0);
	return call;
}

static void on_nothing(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db, (void)result, (void)e, (void)arg;
}

void db_ping(struct db *db)
{
	db_send_end(db, true, on_nothing, NULL);
}

/* Send a command whose answer nobody needs. */
static void db_send_command(struct db *db, const char *sql)
{
	if (db->state == DB_UP)
		db_send_end(db, PQsendQueryParams(db->conn, sql, 0, NULL, NULL, NULL, NULL, 0), on_nothing, NULL);
}

void db_read_begin(struct db *db)
{
	db_send_command(db, "begin isolation level repeatable read read only");
}

void db_read_end(struct db *db)
{
	db_send_command(db, "commit"); /* a rollback, if a call has failed */
}

static int parameter_count(const char *parameters)
{
	int count = *parameters ? 1 : 0;
	for (; *parameters; parameters++)
		count += *parameters == ',';
	return count;
}

void db_call(struct db *db, enum api_function function, const struct db_param *params, int count, db_answer *answer, void *arg)
{
	if (count != parameter_count(db_functions[function].parameters) || !(db_functions[function].users & (unsigned)db->user))
		die("api.%s was called with %d parameters; see lib/api.def for their number and who may call it",
		    db_functions[function].name, count);
	if (db->state != DB_UP) {
		queue_add(&db->unsent, answer, arg);
		event_active(db->deferred, 0, 0);
		return;
	}
	const char *values[PARAMETERS_MOST];
	int sizes[PARAMETERS_MOST], formats[PARAMETERS_MOST];
	for (int i = 0; i < count; i++) {
		values[i] = params[i].value;
		sizes[i] = params[i].size > 0 ? params[i].size : 0;
		formats[i] = params[i].size >= 0;
	}
	crash_call(db_functions[function].name, "before");
	bool sent = PQsendQueryPrepared(db->conn, db_functions[function].name, count, values, sizes, formats, 0);
	db_send_end(db, sent, answer, arg)->function = db_functions[function].name;
	crash_call(db_functions[function].name, "sent");
}

bool db_send_listen(struct db *db, const char *channel)
{
	char *quoted = PQescapeIdentifier(db->conn, channel, strlen(channel));
	if (!quoted)
		return false;
	char *sql = xasprintf("listen %s", quoted);
	bool sent = PQsendQueryParams(db->conn, sql, 0, NULL, NULL, NULL, NULL, 0);
	free(sql);
	PQfreemem(quoted);
	return sent;
}

static void on_listening(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)arg;
	if (!result && db->state == DB_UP)
		log_error("could not LISTEN in the database: %s", e->message);
}

void db_listen(struct db *db, const char *channel)
{
	for (int i = 0; i < db->channel_count; i++)
		if (strcmp(db->channels[i], channel) == 0)
			return;
	db->channels = xrealloc(db->channels, (size_t)(db->channel_count + 1) * sizeof *db->channels);
	db->channels[db->channel_count++] = xstrdup(channel);
	if (db->state == DB_UP || (db->state == DB_PREPARING && !db->pooler))
		db_send_end(db, db_send_listen(db, channel), on_listening, NULL);
}

/* receiving of answers and notifications */

static void result_error(const PGresult *result, struct err *e)
{
	const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	err_set(e, "%s", message ? message : PQresultErrorMessage(result));
	snprintf(e->code, sizeof e->code, "%s", code ? code : "08006");
	if (hint)
		err_hint(e, "%s", hint);
}

static bool result_is_good(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);
	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* Pass the answer of the oldest call to its callback. The sync of the call has arrived, so the call is committed or has
 * failed. */
static void db_answer_oldest(struct db *db)
{
	struct db_sent *call = queue_take(&db->sent);
	struct err e = {0};
	bool good = call->result && result_is_good(call->result);
	if (!call->result)
		err_set(&e, "the database gave no answer");
	else if (!good)
		result_error(call->result, &e);
	bool demoted = strcmp(e.code, "25006") == 0; /* the server became read-only: treat the connection as lost */
	if (demoted)
		strcpy(e.code, "08003");
	if (db->state == DB_UP &&
	    (demoted || strcmp(e.code, "0A000") == 0)) { /* 0A000: the database was upgraded, prepare again */
		db->state = DB_BROKEN;
		event_active(db->deferred, 0, 0);
	}
	if (good && call->function)
		crash_call(call->function, "after");
	call->answer(db, good ? call->result : NULL, &e, call->arg);
	sent_free(call);
}

/* Pass each complete answer to its callback. */
static void db_results(struct db *db)
{
	while (db->sent.head && db->state != DB_CLOSED && !PQisBusy(db->conn)) {
		PGresult *result = PQgetResult(db->conn);
		if (!result && PQstatus(db->conn) != CONNECTION_OK)
			break;
		if (!result) /* a NULL result ends one statement; the result of the sync follows */
			continue;
		struct db_sent *call = db->sent.head;
		if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
			PQclear(result);
			db_answer_oldest(db);
		} else if (!call->result || result_is_good(call->result)) {
			PQclear(call->result);
			call->result = result;
		} else
			PQclear(result);
	}
}

static void db_hand_out_notifications(struct db *db)
{
	char last[CHANNEL_LONGEST + 1] = "";
	PGnotify *notify;
	while (db->state != DB_CLOSED && (notify = PQnotifies(db->conn))) {
		bool is_mode = db_pooler_take(db->pooler, notify->relname);
		if (!is_mode && strcmp(last, notify->relname) != 0) /* consecutive notifications of a channel count as one */
			db->watcher->notified(db, notify->relname, db->watcher->arg);
		snprintf(last, sizeof last, "%s", notify->relname);
		PQfreemem(notify);
	}
}

void db_on_socket(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	struct db *db = arg;
	db_enter(db);
	bool alive = !(what & EV_READ) || PQconsumeInput(db->conn);
	if (what & EV_READ)
		db_silence_received(db->silence);
	db_results(db); /* also handle answers that arrived before the connection was lost */
	if (db->state != DB_CLOSED && db->state != DB_DOWN)
		db_hand_out_notifications(db);
	if (db->state != DB_CLOSED && db->state != DB_DOWN && (!alive || PQstatus(db->conn) != CONNECTION_OK || !db_flush(db)))
		db_lost_conn(db);
	db_leave(db);
}

/* Handle a broken connection, and fail calls that db_call() could not send. No callback may run inside db_call(). */
void db_on_deferred(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	struct db *db = arg;
	struct err e;
	db_enter(db);
	if (db->state == DB_BROKEN)
		db_lost_conn(db);
	err_set(&e, "there is no connection to the database");
	strcpy(e.code, "08003");
	if (db->state != DB_CLOSED)
		queue_fail(db, &db->unsent, &e);
	db_leave(db);
}

void db_close(struct db *db)
{
	if (!db || db->state == DB_CLOSED)
		return;
	db_enter(db);
	db->state = DB_CLOSED;
	db_leave(db);
}

const char *db_function_name(enum api_function function)
{
	return db_functions[function].name;
}

bool db_is_up(const struct db *db)
{
	return db->state == DB_UP;
}

static int db_column(const PGresult *result, const char *column)
{
	int field = PQfnumber(result, column);

	if (field < 0)
		die("the database's answer has no column \"%s\": its functions are of another version; run \"rota admin db "
		    "upgrade\"",
		    column);
	return field;
}

const char *db_text(const PGresult *result, int row, const char *column)
{
	return PQgetvalue(result, row, db_column(result, column));
}

bool db_is_null(const PGresult *result, int row, const char *column)
{
	return PQgetisnull(result, row, db_column(result, column));
}
