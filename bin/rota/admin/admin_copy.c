/* admin_copy.c - copies the rows of queries to files, as of one moment.
 *
 * Called by: admin_export.c.
 * Invariants:
 * - All sessions read the same snapshot, that of the first one.
 * - Memory does not grow with the rows.
 * - Two sessions copy at once, a table each, since one process of the server formats rows slower than this program compresses them. */
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

/* A session, and the table that it copies. */
struct lane {
	PGconn *db;
	size_t table; /* which of the tables; all the rest is of this one */
	char *name, *path;
	json_t *columns;
	struct packed *file; /* NULL when it copies nothing */
	bool rows_come;	     /* else the server's word on the query is awaited */
	long long rows;
};

struct copying {
	const char *folder;
	const json_t *tables;
	json_t *files; /* what came of them, null until it did */
	size_t next;   /* the first table that nobody has taken */
	struct lane lanes[LANES];
};

static bool database_error(PGconn *db, struct err *e)
{
	const char *message = PQerrorMessage(db);

	return err_set(e, "the database says: %.*s", (int)strcspn(message, "\n"), message);
}

/* What the last of some statements says, "" where that is nothing; the caller's to free. */
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

/* Connect, and begin at the moment of `snapshot`, or at this one where it is NULL; the moment's name, which is the caller's to free. */
static char *lane_open(struct lane *l, const char *conninfo, const char *snapshot, struct err *e)
{
	static const char BEGIN[] = "begin isolation level repeatable read read only";
	char *begin, *moment;

	l->db = PQconnectdb(conninfo);
	if (PQstatus(l->db) != CONNECTION_OK) {
		database_error(l->db, e);
		err_hint(e, "Only root and the account of the instance may do that.");
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
	char *conninfo = db_conninfo_reader(call_conf(), "rota_admin"), *moment = NULL;
	bool well = true;

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

/* The columns of a query, as the manifest has them. */
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

/* Begin with the next table; without one, the lane has nothing to do from here on. */
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

/* The end of a table, or of what there is of it; says what came of it when that is `well`. */
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

/* The server's next word on the query: that rows come, how many came, or that this was all of it. */
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

/* Take what has come, without waiting for more. */
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

/* Begin in every lane, and go on until none has anything to do. */
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
			return err_sys(e, "could not wait for the database");
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
