/* admin_db_check.c - `rota admin db check`, `restored` and `accept`: let a database server check itself, and print its findings.
 *
 * Called by: `rota admin`.
 * Invariants:
 * - sql/cluster/db_check.sql decides which findings are bad, since the server may be a standby of another version of Rota. */
#include "bin/rota/admin/admin_db_check.h"

#include <jansson.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "bin/rota/admin/admin_db.h"
#include "bin/rota/call/call.h"
#include "bin/rota/embed.h"
#include "bin/rota/line/verb.h"

static void finding_print(const PGresult *found, int row)
{
	const char *state = PQgetvalue(found, row, 1);

	printf("%-8s %-24s %s\n", state, PQgetvalue(found, row, 0), PQgetvalue(found, row, 2));
	if (!PQgetisnull(found, row, 3))
		printf("%-8s %-24s hint: %s\n", "", "", PQgetvalue(found, row, 3));
}

static json_t *finding_json(const PGresult *found, int row)
{
	return json_pack("{s:s, s:s, s:s, s:s?}", "item", PQgetvalue(found, row, 0), "state", PQgetvalue(found, row, 1), "value",
			 PQgetvalue(found, row, 2), "hint", PQgetisnull(found, row, 3) ? NULL : PQgetvalue(found, row, 3));
}

/* Print the findings. Returns false if one of them is bad. */
static bool findings_print(const PGresult *found, bool json)
{
	json_t *all = json_array();
	bool good = true;

	for (int i = 0; i < PQntuples(found); i++) {
		good = good && strcmp(PQgetvalue(found, i, 1), "bad") != 0;
		if (json)
			json_array_append_new(all, finding_json(found, i));
		else
			finding_print(found, i);
	}
	if (json && !json_dumpf(all, stdout, JSON_COMPACT))
		putchar('\n');
	json_decref(all);
	return good;
}

/* Run a query that answers findings. Returns NULL if it failed; the error was printed then. */
static PGresult *findings_ask(const char *conninfo, PGconn *db, const char *query, int count, const char *const *values)
{
	struct err e = {0};
	PGresult *found = PQstatus(db) == CONNECTION_OK ? PQexecParams(db, query, count, NULL, values, NULL, NULL, 0) : NULL;
	const char *message, *code;

	if (PQresultStatus(found) == PGRES_TUPLES_OK)
		return found;
	message = PQresultErrorField(found, PG_DIAG_MESSAGE_PRIMARY);
	code = PQresultErrorField(found, PG_DIAG_SQLSTATE);
	if (message)
		err_set(&e, "%s", message);
	else
		admin_db_explain(conninfo, db, &e);
	if (code && (strcmp(code, "42883") == 0 || strcmp(code, "3F000") == 0))
		err_hint(&e, "bring the database to this version with \"rota admin db upgrade\"");
	call_refuse(&e);
	PQclear(found);
	return NULL;
}

/* Run a query and print its findings. Returns the exit status. If `offers` is not NULL, *offers says whether the findings list
 * what --yes would do. */
static int findings_run(const char *conninfo, const char *query, int count, const char *const *values, bool json, bool *offers)
{
	PGconn *db = PQconnectdb(conninfo);
	PGresult *found = findings_ask(conninfo, db, query, count, values);
	int status = found && findings_print(found, json) ? EXIT_OK : EXIT_REFUSED;

	if (offers)
		*offers = found && PQntuples(found) > 0 && strcmp(PQgetvalue(found, 0, 0), "accepted") != 0;
	PQclear(found);
	PQfinish(db);
	return status;
}

int admin_db_check(const char *conninfo, bool json)
{
	const struct embed *newest = EMBED_MIGRATIONS;

	while (newest[1].name)
		newest++;
	return findings_run(conninfo, "select item, state, value, hint from internal.db_check($1)", 1,
			    (const char *const[]){newest->name}, json, NULL);
}

int admin_db_begin(const char *conninfo, bool accepts, const char *skip, bool acts, bool json)
{
	const char *values[] = {skip, acts ? "true" : "false"};
	bool offers;
	int status = findings_run(conninfo,
				  accepts ? "select item, state, value, hint from internal.db_accept($1::bigint, $2::boolean)"
					  : "select item, state, value, hint from internal.db_restored($1::bigint, $2::boolean)",
				  2, values, json, &offers);

	if (status != EXIT_OK || json)
		return status;
	if (acts && accepts)
		puts("Done. Daemons use this server within some seconds. To see what it lacks, run \"rota admin db accept\" "
		     "again.");
	else if (acts)
		puts("Done. The process managers of all nodes connect again and report which attempts they have. To see what "
		     "this server lacks, run \"rota admin db accept\".");
	else if (offers)
		puts("Nothing was done. Add --yes to do this.");
	return status;
}
