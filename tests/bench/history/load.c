/* load.c - writes rows of a history (load_row.c) into the tables, in binary COPY. One transaction for each range of job ids makes the range
 * if it is missing, fills it, and checks each foreign key. If it made the range, its rows are frozen, so no vacuum has to read them. One
 * statement checks a foreign key for the whole range: row by row, the checks would take longer than everything else. */
#include "load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "load_row.h"

enum { BATCH = 10000 };

struct load {
	PGconn *db;
	struct load_rows rows;
	int64_t range, range_size; /* the range that is open; -1: none */
	int jobs;		   /* whose rows are in the buffers */
	bool frozen;
};

static _Noreturn void fail(PGconn *db, const char *what)
{
	fprintf(stderr, "history: %.200s: %s", what, PQerrorMessage(db));
	exit(1);
}

static char *run(PGconn *db, const char *format, va_list arguments)
{
	static char value[256];
	char *text;
	PGresult *result;

	if (vasprintf(&text, format, arguments) < 0)
		abort();
	result = PQexec(db, text);
	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		fail(db, text);
	snprintf(value, sizeof value, "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	free(text);
	return value;
}

void load_run(PGconn *db, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	run(db, format, arguments);
	va_end(arguments);
}

const char *load_value(PGconn *db, const char *format, ...)
{
	va_list arguments;
	const char *value;

	va_start(arguments, format);
	value = run(db, format, arguments);
	va_end(arguments);
	return value;
}

static void copy(struct load *l, enum load_table_id table)
{
	static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", tail[] = "\377\377";
	char statement[512];
	PGresult *result;

	snprintf(statement, sizeof statement, "copy rota.%s_%lld (%s) from stdin (format binary%s)", load_tables[table].name,
		 (long long)l->range, load_tables[table].columns, l->frozen ? ", freeze" : "");
	result = PQexec(l->db, statement);
	if (PQresultStatus(result) != PGRES_COPY_IN)
		fail(l->db, statement);
	PQclear(result);
	if (PQputCopyData(l->db, head, sizeof head - 1) != 1 ||
	    PQputCopyData(l->db, l->rows.table[table].bytes, (int)l->rows.table[table].size) != 1 ||
	    PQputCopyData(l->db, tail, sizeof tail - 1) != 1 || PQputCopyEnd(l->db, NULL) != 1)
		fail(l->db, statement);
	while ((result = PQgetResult(l->db))) {
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			fail(l->db, statement);
		PQclear(result);
	}
	l->rows.table[table].size = 0;
}

static void flush(struct load *l)
{
	for (int table = 0; table < LOAD_TABLES; table++)
		if (l->rows.table[table].size)
			copy(l, table);
	l->jobs = 0;
}

/* Check each foreign key of the range's tables, and the rules of rota.step_references and rota.step_edge_references. If the table that a
 * row refers to has ranges, the row refers to the same range. The arguments are the range's first job id, for each %lld. */
static const char CHECK[] =
	"do $$\n"
	"declare v record; v_bad boolean;\n"
	"begin\n"
	"	for v in\n"
	"		select c.conname, k.relname as child, coalesce(to_regclass('rota.' || p.relname || '_%lld'), "
	"p.oid::regclass) as parent,\n"
	"			(select string_agg(format('p.%%I = c.%%I', f.attname, a.attname), ' and ') from unnest(c.conkey, "
	"c.confkey) x (k, f)\n"
	"				join pg_attribute a on a.attrelid = c.conrelid and a.attnum = x.k join pg_attribute f on "
	"f.attrelid = c.confrelid and f.attnum = x.f) as same,\n"
	"			(select string_agg(format('c.%%I is not null', a.attname), ' and ') from unnest(c.conkey) x (k)\n"
	"				join pg_attribute a on a.attrelid = c.conrelid and a.attnum = x.k) as given\n"
	"		from pg_constraint c join pg_class k on k.oid = c.conrelid join pg_class p on p.oid = c.confrelid\n"
	"		where c.contype = 'f' and (c.conparentid = 0 or not p.relispartition) and k.relnamespace = "
	"'rota'::regnamespace and k.relname ~ '_%lld$' and "
	"k.relispartition\n"
	"	loop\n"
	"		execute format('select exists (select from rota.%%I c where %%s and not exists (select from %%s p where "
	"%%s))', v.child, v.given, v.parent, v.same)\n"
	"			into v_bad;\n"
	"		if v_bad then raise exception '%% of %% does not hold', v.conname, v.child; end if;\n"
	"	end loop;\n"
	"	if exists (select from rota.step_%lld s left join rota.step_request_%lld r on r.job_id = s.job_id and r.step_id "
	"= "
	"s.request_id left join rota.job_%lld j on j.job_id = r.job_id where j.job_id is null)\n"
	"		or exists (select from rota.step_edge_%lld e left join rota.step_request_%lld r on r.job_id = e.job_id "
	"and "
	"r.step_id = e.step_id and r.topo = e.topo where r.job_id is null) then\n"
	"		raise exception 'a step or an edge refers to nothing';\n"
	"	end if;\n"
	"end $$";

static void range_close(struct load *l)
{
	if (l->range < 0)
		return;
	long long from = l->range;
	flush(l);
	load_run(l->db, CHECK, from, from, from, from, from, from, from);
	load_run(l->db, "commit");
	fprintf(stderr, "history: jobs from %lld on are there\n", (long long)l->range);
}

static void range_open(struct load *l, int64_t job)
{
	range_close(l);
	l->range = job / l->range_size * l->range_size;
	load_run(l->db, "begin");
	l->frozen = load_value(l->db, "select to_regclass('rota.job_%lld') is null", (long long)l->range)[0] == 't';
	/* Make the tables as the owner of the other tables, because an upgrade grants rights on all of them. */
	load_run(l->db, "set local role rota_owner; select rota.range_make(%lld, %lld); set local role none", (long long)l->range,
		 (long long)(l->range + l->range_size));
}

struct load *load_new(PGconn *db, const struct world *w)
{
	struct load *l = calloc(1, sizeof *l);

	l->db = db;
	l->rows.w = w;
	l->range = -1;
	l->range_size = atoll(load_value(db, "select value from rota.setting where name = 'range_size'"));
	return l;
}

void load_job(struct load *l, const struct job *j)
{
	if (l->range < 0 || j->id >= l->range + l->range_size)
		range_open(l, j->id);
	load_rows_add(&l->rows, j);
	if (++l->jobs == BATCH)
		flush(l);
}

void load_end(struct load *l)
{
	range_close(l);
	for (int table = 0; table < LOAD_TABLES; table++)
		free(l->rows.table[table].bytes);
	free(l);
}
