/* admin_copy.c - copies the results of queries to files, all from one database snapshot.
 *
 * Called by: admin_export.c.
 * Invariants:
 * - All sessions read the snapshot of the first session.
 * - Memory does not grow with the number of rows.
 * - Two sessions copy at once, one table each, because one process of the server formats rows slower than this program
 *   compresses them. */
#include "bin/rota/admin/admin_copy.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/admin/packed.h"
#include "lib/db.h"

enum { LANES = 2 };

/* A database session and the table that the session copies. */
struct lane {
	PGconn *db;
	size_t table; /* index of the table; the members below are about this table */
	char *name, *path;
	json_t *columns;
	struct packed *file; /* file being written; NULL if the session copies nothing */
	bool rows_come;	     /* true: rows are arriving; false: waiting for a result of the query */
	long long rows;
};

struct copying {
	const char *folder;
	const json_t *tables;
	json_t *files; /* result of each table; null until the table is copied */
	size_t next;   /* index of the first table that no session has taken */
	struct lane lanes[LANES];
};

static bool database_error(PGconn *db, struct err *e)
{
	const char *message = PQerrorMessage(db);

	return err_set(e, "could not copy tables of the database: %.*s", (int)strcspn(message, "\n"), message);
}

/* Run SQL statements. Returns the first value of the last result, malloc'ed; "" if that result has no rows; NULL with an error
 * on failure. */
static char *value_of(PGconn *db, const char *statement, struct err *e)
{
	PGresult *result = PQexec(db, statement);
	ExecStatusType status = PQresultStatus(result);
	char *value = NULL;

	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
		value = xstrdup(PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
	else
		database_error(db, e);
	PQclear(result);
	return value;
}

/* Connect and begin a transaction in `snapshot`, or in a new snapshot if `snapshot` is NULL. Returns the malloc'ed name of the
 * snapshot, NULL with an error on failure. */
static char *lane_open(struct lane *l, const char *conninfo, const char *snapshot, struct err *e)
{
	static const char BEGIN[] = "begin isolation level repeatable read read only";
	char *begin, *moment;

	l->db = PQconnectdb(conninfo);
	if (PQstatus(l->db) != CONNECTION_OK) {
		database_error(l->db, e);
		err_hint(e, "Only root and the account of the instance may copy them: run the command as one of these.");
		return NULL;
	}
	begin = snapshot ? xasprintf("%s; set transaction snapshot '%s'", BEGIN, snapshot) : xstrdup(BEGIN);
	moment = value_of(l->db, begin, e);
	free(begin);
	if (moment) {
		free(moment);
		moment = value_of(l->db, "set local time zone 'UTC'; select pg_export_snapshot()", e);
	}
	return moment;
}

static bool lanes_open(struct copying *c, struct err *e)
{
	char *conninfo = db_conninfo_reader(call_conf(), "rota_admin", DB_READER_PRIMARY), *moment = NULL;
	bool well = db_conninfo_check(call_conf(), e);

	for (int i = 0; well && i < LANES; i++) {
		char *same = lane_open(&c->lanes[i], conninfo, moment, e);

		well = same;
		free(moment);
		moment = same;
	}
	free(moment);
	free(conninfo);
	return well;
}

/* Returns the column names of a query for the manifest; NULL with an error on failure. */
static json_t *columns_of(PGconn *db, const char *query, struct err *e)
{
	json_t *columns = NULL;
	PGresult *result = PQprepare(db, "", query, 0, NULL);

	if (PQresultStatus(result) == PGRES_COMMAND_OK) {
		PQclear(result);
		result = PQdescribePrepared(db, "");
	}
	if (PQresultStatus(result) != PGRES_COMMAND_OK) {
		database_error(db, e);
	} else {
		columns = json_array();
		for (int i = 0; i < PQnfields(result); i++)
			json_array_append_new(columns, json_string(PQfname(result, i)));
	}
	PQclear(result);
	return columns;
}

/* Begin to copy the next table. If no table is left, the session does nothing any more. */
static bool lane_begin(struct copying *c, struct lane *l, struct err *e)
{
	const json_t *table = json_array_get(c->tables, c->next);
	const char *query;
	char *statement;
	bool sent;

	if (!table)
		return true;
	query = format_text(table, "query");
	l->table = c->next++;
	l->name = xasprintf("%s.csv.gz", format_text(table, "name"));
	l->path = xasprintf("%s/%s", c->folder, l->name);
	l->rows_come = false;
	l->columns = columns_of(l->db, query, e);
	if (!l->columns || !(l->file = packed_open(l->path, e)))
		return false;
	statement = xasprintf("copy (%s) to stdout (format csv, header)", query);
	sent = PQsendQuery(l->db, statement);
	free(statement);
	return sent || database_error(l->db, e);
}

/* End the copy of a table. With `well`, complete the file and store the result of the table; else close the file incomplete. */
static bool lane_end(struct copying *c, struct lane *l, bool well, struct err *e)
{
	struct packed_sum sum;

	well = l->file && packed_close(l->file, well, &sum, e);
	if (well)
		json_array_set_new(c->files, l->table,
				   json_pack("{ss sI sI ss sO}", "file", l->name, "rows", (json_int_t)l->rows, "bytes",
					     (json_int_t)sum.bytes, "sha256", sum.sha256, "columns", l->columns));
	l->file = NULL;
	json_decref(l->columns);
	l->columns = NULL;
	free(l->name);
	free(l->path);
	l->name = l->path = NULL;
	return well;
}

/* Read the next result of the query: rows follow, the number of copied rows, or the end of the results. */
static bool lane_answer(struct copying *c, struct lane *l, struct err *e)
{
	PGresult *result = PQgetResult(l->db);
	ExecStatusType status = PQresultStatus(result);
	bool well = true;

	if (!result)
		return lane_end(c, l, true, e) && lane_begin(c, l, e);
	if (status == PGRES_COMMAND_OK)
		l->rows = atoll(PQcmdTuples(result));
	else if (status != PGRES_COPY_OUT)
		well = database_error(l->db, e);
	l->rows_come = status == PGRES_COPY_OUT;
	PQclear(result);
	return well;
}

/* Read the data that has arrived from the server, without waiting for more. */
static bool lane_take(struct copying *c, struct lane *l, struct err *e)
{
	if (!PQconsumeInput(l->db))
		return database_error(l->db, e);
	while (l->file && (l->rows_come || !PQisBusy(l->db))) {
		char *bytes;
		int size = l->rows_come ? PQgetCopyData(l->db, &bytes, 1) : -1;

		if (size == 0)
			return true;
		if (size > 0) {
			bool well = packed_write(l->file, bytes, size, e);

			PQfreemem(bytes);
			if (!well)
				return false;
		} else if (!lane_answer(c, l, e)) {
			return false;
		}
	}
	return true;
}

/* Copy tables in all sessions until no table is left. */
static bool lanes_run(struct copying *c, struct err *e)
{
	for (int i = 0; i < LANES; i++)
		if (!lane_begin(c, &c->lanes[i], e))
			return false;
	for (;;) {
		struct pollfd wait[LANES];
		bool any = false;

		for (int i = 0; i < LANES; i++) {
			bool busy = c->lanes[i].file;

			wait[i] = (struct pollfd){.fd = busy ? PQsocket(c->lanes[i].db) : -1, .events = POLLIN};
			any |= busy;
		}
		if (!any)
			return true;
		if (poll(wait, LANES, -1) < 0)
			return err_sys(e, "could not wait for the database's answer while copying tables");
		for (int i = 0; i < LANES; i++)
			if (wait[i].revents && !lane_take(c, &c->lanes[i], e))
				return false;
	}
}

json_t *admin_copy(const char *folder, const json_t *tables, struct err *e)
{
	struct copying c = {.folder = folder, .tables = tables, .files = json_array()};
	bool well;

	for (size_t i = 0; i < json_array_size(tables); i++)
		json_array_append_new(c.files, json_null());
	well = lanes_open(&c, e) && lanes_run(&c, e);
	for (int i = 0; i < LANES; i++) {
		if (c.lanes[i].name)
			lane_end(&c, &c.lanes[i], false, e);
		PQfinish(c.lanes[i].db);
	}
	if (well)
		return c.files;
	json_decref(c.files);
	return NULL;
}

bool admin_copy_may(struct err *e)
{
	struct copying c = {0};
	bool well = lanes_open(&c, e);

	for (int i = 0; i < LANES; i++)
		PQfinish(c.lanes[i].db);
	return well;
}
