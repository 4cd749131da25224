/* admin_db.c - `rota admin db upgrade`: upgrades a database to the schema that this binary contains, in one transaction.
 *
 * Called by: `rota admin db upgrade`, `rota up`.
 * Invariants:
 * - Migrations make and change the tables. Each is applied once, in the order of the numbers.
 * - A database is refused if one of its migrations is unknown to this binary, or has another text in this binary (the hash
 *   differs).
 * - The schemas `api`, `internal`, `acct` and `live` have the functions and views of sql/. They are dropped and built anew if a
 *   migration was applied, or if the hash of sql/ in this binary differs from that of the last upgrade.
 * - An upgrade of a database that is up to date changes nothing. */
#include "bin/rota/admin/admin_db.h"

#include <libpq-fe.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/embed.h"
#include "lib/seal.h"
#include "lib/unreachable.h"

/* Tables that record which migrations were applied and which state of sql/ is installed. */
static const char RECORD_TABLES[] =
	"create schema rota;"
	"comment on schema rota is 'Tables of Rota. Only migrations change their definitions.';"
	"create table rota.schema_migration ("
	"	version int primary key,"
	"	name text not null unique,"
	"	sha256 text not null,"
	"	applied_at timestamptz not null default now(),"
	"	applied_by text not null default session_user);"
	"comment on table rota.schema_migration is 'Migrations applied to this database, one row each. An applied migration is "
	"never edited.';"
	"comment on column rota.schema_migration.version is 'Number at the start of the file name. Migrations apply in the "
	"order of their numbers.';"
	"comment on column rota.schema_migration.name is 'File name in migrations/.';"
	"comment on column rota.schema_migration.sha256 is 'SHA-256 of the migration file as applied, in hexadecimal.';"
	"comment on column rota.schema_migration.applied_at is 'When the migration was applied.';"
	"comment on column rota.schema_migration.applied_by is 'Database role that applied the migration.';"
	"create table rota.schema_api ("
	"	only_row boolean primary key default true check (only_row),"
	"	sha256 text not null,"
	"	installed_at timestamptz not null default now());"
	"comment on table rota.schema_api is 'State of sql/ that schemas api, internal, acct and live were built from; one row.';"
	"comment on column rota.schema_api.only_row is 'Always true, so the table has at most one row.';"
	"comment on column rota.schema_api.sha256 is 'SHA-256 over all files of sql/ in install order, in hexadecimal.';"
	"comment on column rota.schema_api.installed_at is 'When the schemas were built from sql/.';";

/* Advisory lock that lets only one upgrade run at a time: "rota" in ASCII. */
static const char LOCK[] = "select pg_advisory_xact_lock(1919906913)";

/* Returns the line (from 1) of a character position (from 1, as PostgreSQL reports it) in a text. */
static int line_at(const char *text, int position)
{
	int line = 1;

	for (; *text && position > 1; text++) {
		if (((unsigned char)*text & 0xC0) == 0x80)
			continue;
		line += *text == '\n';
		position--;
	}
	return line;
}

/* Turn a failed result into an error that names the file and line. */
static bool result_error(PGconn *db, const PGresult *result, const char *file, const char *text, struct err *e)
{
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *position = PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION);
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	const char *context = PQresultErrorField(result, PG_DIAG_CONTEXT);

	if (!message)
		err_set(e, "%s: %.*s", file, (int)strcspn(PQerrorMessage(db), "\n"), PQerrorMessage(db));
	else if (position)
		err_set(e, "%s:%d: %s", file, line_at(text, atoi(position)), message);
	else if (context)
		err_set(e, "%s: %s (%.*s)", file, message, (int)strcspn(context, "\n"), context);
	else
		err_set(e, "%s: %s", file, message);
	snprintf(e->code, sizeof(e->code), "%s", state ? state : "");
	if (hint)
		err_hint(e, "%s", hint);
	return false;
}

/* Run the SQL statements of a file. `name` is the name of the file in the error. */
static bool sql_run(PGconn *db, const char *name, const char *text, struct err *e)
{
	PGresult *result = PQexec(db, text);
	ExecStatusType status = PQresultStatus(result);
	bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;

	if (!ok)
		result_error(db, result, name, text, e);
	PQclear(result);
	return ok;
}

/* Run one query with up to three parameters. Returns false with an error if the query failed; else the caller clears *result. */
static bool sql_query(PGconn *db, PGresult **result, struct err *e, const char *text, int count, const char *const *values)
{
	ExecStatusType status;

	*result = PQexecParams(db, text, count, NULL, values, NULL, NULL, 0);
	status = PQresultStatus(*result);
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return true;
	result_error(db, *result, "database", text, e);
	PQclear(*result);
	*result = NULL;
	return false;
}

/* Returns the migration of this binary with this version, NULL if there is none. */
static const struct embed *migration_find(int version)
{
	for (const struct embed *m = EMBED_MIGRATIONS; m->name; m++)
		if (atoi(m->name) == version)
			return m;
	return NULL;
}

/* Returns false with an error if the database has a migration that this binary lacks, or has with another text. *last: newest
 * applied version. */
static bool applied_check(PGconn *db, int *last, struct err *e)
{
	PGresult *result;
	char hex[SEAL_HEX_SIZE];
	bool ok = true;

	*last = 0;
	if (!sql_query(db, &result, e, "select version, sha256, name from rota.schema_migration order by version", 0, NULL))
		return false;
	for (int i = 0; ok && i < PQntuples(result); i++) {
		int version = atoi(PQgetvalue(result, i, 0));
		const struct embed *m = migration_find(version);

		*last = version;
		if (!m) {
			err_set(e, "the database has migration \"%s\", which this program does not know",
				PQgetvalue(result, i, 2));
			ok = err_hint(e, "The database is newer than this program: install a version of Rota at least as new.");
			break;
		}
		seal_hash_hex(m->text, m->size, hex);
		if (strcmp(hex, PQgetvalue(result, i, 1))) {
			err_set(e, "migration \"%s\" differs from the one that was applied to this database", m->name);
			ok = err_hint(e, "A migration is never edited once applied: put the change into a new one.");
		}
	}
	PQclear(result);
	return ok;
}

/* Drop the schemas that are built from sql/. They depend on the tables, so they are dropped before tables change. */
static bool built_drop(PGconn *db, struct err *e)
{
	return sql_run(db, "sql",
		       "drop schema if exists api cascade; drop schema if exists internal cascade;"
		       "drop schema if exists acct cascade; drop schema if exists live cascade",
		       e);
}

/* Apply the migrations of this binary that are newer than version `last`. */
static bool migrations_apply(PGconn *db, int last, struct admin_db_report *report, struct err *e)
{
	for (const struct embed *m = EMBED_MIGRATIONS; m->name; m++) {
		char hex[SEAL_HEX_SIZE], version[16];
		const char *values[] = {version, m->name, hex};
		PGresult *result;

		if (atoi(m->name) <= last)
			continue;
		if ((report->migrations == 0 && !built_drop(db, e)) || !sql_run(db, m->name, m->text, e))
			return false;
		seal_hash_hex(m->text, m->size, hex);
		snprintf(version, sizeof(version), "%d", atoi(m->name));
		if (!sql_query(db, &result, e,
			       "insert into rota.schema_migration (version, name, sha256) values ($1::int, $2, $3)", 3, values))
			return false;
		PQclear(result);
		report->migrations++;
		report->version = atoi(m->name);
	}
	return true;
}

/* Compute one hash over all files of sql/, including their names and lengths. */
static void api_hash(char hex[SEAL_HEX_SIZE])
{
	char *all = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&all, &size);

	if (!out)
		die("out of memory");
	for (const struct embed *f = EMBED_SQL; f->name; f++) {
		fprintf(out, "%s %zu\n", f->name, f->size);
		fwrite(f->text, 1, f->size, out);
	}
	if (fclose(out))
		die("out of memory");
	seal_hash_hex(all, size, hex);
	free(all);
}

/* Make the tables that record upgrades, if they do not exist. */
static bool record_make(PGconn *db, struct err *e)
{
	PGresult *result;
	bool there;

	if (!sql_query(db, &result, e, "select to_regclass('rota.schema_api')", 0, NULL))
		return false;
	there = !PQgetisnull(result, 0, 0);
	PQclear(result);
	return there || sql_run(db, "database", RECORD_TABLES, e);
}

/* Rebuild the schemas api, internal, acct and live if a migration was applied or sql/ differs from the installed state. */
static bool api_install(PGconn *db, struct admin_db_report *report, struct err *e)
{
	char hex[SEAL_HEX_SIZE];
	const char *values[] = {hex};
	PGresult *result;
	bool same;

	api_hash(hex);
	if (!sql_query(db, &result, e, "select from rota.schema_api where sha256 = $1", 1, values))
		return false;
	same = PQntuples(result) > 0;
	PQclear(result);
	if (same && !report->migrations)
		return true;
	if (!built_drop(db, e))
		return false;
	for (const struct embed *f = EMBED_SQL; f->name; f++, report->files++)
		if (!sql_run(db, f->name, f->text, e))
			return false;
	if (!sql_query(db, &result, e,
		       "insert into rota.schema_api (sha256) values ($1)"
		       " on conflict (only_row) do update set sha256 = excluded.sha256, installed_at = now()",
		       1, values))
		return false;
	PQclear(result);
	return true;
}

/* Pass the name of the calling user to sql/first_admin.sql, which makes that user the first admin of a new instance. */
static bool installer_tell(PGconn *db, struct err *e)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *values[] = {pw ? pw->pw_name : ""};
	PGresult *result;

	if (!sql_query(db, &result, e, "select set_config('rota.installer', $1, true)", 1, values))
		return false;
	PQclear(result);
	return true;
}

/* Run all steps of an upgrade inside its transaction. */
static bool upgrade_within(PGconn *db, struct admin_db_report *report, struct err *e)
{
	if (!sql_run(db, "database", LOCK, e) || !installer_tell(db, e))
		return false;
	for (const struct embed *f = EMBED_ROLES; f->name; f++)
		if (!sql_run(db, f->name, f->text, e))
			return false;
	return sql_run(db, "database", "set local role rota_owner", e) && record_make(db, e) &&
	       applied_check(db, &report->version, e) && migrations_apply(db, report->version, report, e) &&
	       api_install(db, report, e) && sql_run(db, "database", "commit", e);
}

/* Notice receiver that prints nothing: notices of "if exists" and the like do not interest an administrator. */
static void notice_drop(void *arg, const PGresult *result)
{
	(void)arg;
	(void)result;
}

void admin_db_explain(const char *conninfo, PGconn *db, struct err *e)
{
	bool away = PQping(conninfo) == PQPING_NO_RESPONSE;

	err_set(e, "%s: %.*s", away ? UNREACHABLE : "could not connect to the database", (int)strcspn(PQerrorMessage(db), "\n"),
		PQerrorMessage(db));
	if (away)
		err_hint(e, UNREACHABLE_NEXT);
}

bool admin_db_upgrade(const char *conninfo, struct admin_db_report *report, struct err *e)
{
	PGconn *db = PQconnectdb(conninfo);
	bool ok = false;

	*report = (struct admin_db_report){0};
	if (PQstatus(db) != CONNECTION_OK) {
		admin_db_explain(conninfo, db, e);
	} else {
		PQsetNoticeReceiver(db, notice_drop, NULL);
		ok = sql_run(db, "database", "begin", e) && upgrade_within(db, report, e);
	}
	PQfinish(db);
	return ok;
}
