/* up_logins.c - logins of the nodes of a private instance: passwords in keys/node.pass that the database takes. For `rota up`.
 *
 * Invariants:
 * - A password that the database takes is kept, so a running process manager is not disturbed. Any other is replaced: after the
 *   loss of the file or of the database, or where an instance of an older version had no logins of nodes. */
#include <jansson.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/admin/enroll.h"
#include "bin/rota/instance/process.h"
#include "bin/rota/instance/up.h"
#include "lib/db.h"

const char UP_VIRTUAL_NAME[] = "n";

/* How pg_hba.conf lets process managers in; the first line that fits counts. The owner of the schemas is a member of rota_nodes. */
const char UP_NODE_DOORS[] = "local rota rota_owner,rota_node peer map=rota\n"
			     "local rota +rota_nodes scram-sha-256\n";

/* Returns the whole file, malloc'ed; NULL with an error on failure. */
static char *file_text(const char *path, struct err *e)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = fopen(path, "re");
	if (!file || getdelim(&text, &size, '\0', file) < 0) {
		err_sys(e, "could not read \"%s\"", path);
		free(text);
		text = NULL;
	}
	if (file)
		fclose(file);
	return text;
}

/* Add the lines for nodes to a pg_hba.conf of an older version; runs as the account. */
static bool doors_add(const struct instance *in, struct err *e)
{
	char *path = instance_path(in, "pg/data/pg_hba.conf"), *draft = instance_path(in, "pg/data/pg_hba.conf.new");
	char *text = file_text(path, e);
	bool ok = text != NULL;
	if (ok) {
		FILE *file = fopen(draft, "we");
		ok = file && fprintf(file, "%s%s", UP_NODE_DOORS, text) > 0;
		ok = file && !fclose(file) && ok && !rename(draft, path);
		if (!ok)
			err_sys(e, "could not write \"%s\"", path);
	}
	free(text);
	free(draft);
	free(path);
	return ok;
}

/* Have the server read pg_hba.conf. */
static bool doors_reload(const struct instance *in, struct err *e)
{
	char *conninfo = instance_conninfo(in, "rota", "postgres");
	PGconn *db = PQconnectdb(conninfo);
	PGresult *result = PQexec(db, "select pg_reload_conf()");
	bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
	if (!ok)
		err_set(e, "could not reload pg_hba.conf: %.*s", (int)strcspn(PQerrorMessage(db), "\n"), PQerrorMessage(db));
	PQclear(result);
	PQfinish(db);
	free(conninfo);
	return ok;
}

/* Make sure that pg_hba.conf has the lines for nodes. Only a cluster that an older version made lacks them. */
static bool doors_open(const struct instance *in, struct err *e)
{
	char *path = instance_path(in, "pg/data/pg_hba.conf"), *text = file_text(path, e);
	bool ok = text && (strstr(text, UP_NODE_DOORS) || (process_as_account(in, doors_add, e) && doors_reload(in, e)));
	free(text);
	free(path);
	return ok;
}

/* Does the database take the password that the file has for a login? */
static bool login_works(const struct instance *in, const char *login)
{
	char *conninfo = db_conninfo_node(&in->conf, login, "rota up");
	PGconn *db = PQconnectdb(conninfo);
	bool works = PQstatus(db) == CONNECTION_OK;
	PQfinish(db);
	free(conninfo);
	return works;
}

/* Returns the names of nodes, separated by commas; malloc'ed. */
static char *names_join(const json_t *nodes)
{
	char *all = NULL;
	size_t size, i;
	const json_t *row;
	FILE *out = open_memstream(&all, &size);
	if (!out)
		die("out of memory");
	json_array_foreach (nodes, i, row)
		fprintf(out, "%s%s", i ? "," : "", json_string_value(json_object_get(row, "name")));
	if (fclose(out))
		die("out of memory");
	return all;
}

/* Enroll nodes under a login, if its password does not work. *made counts the logins that got a new password. */
static bool login_make(const struct instance *in, const char *names, const char *login, struct password_file *file, int *made,
		       struct err *e)
{
	if (login_works(in, login))
		return true;
	char *got = enroll(&in->conf, names, login, file, e);
	*made += got != NULL;
	free(got);
	return got != NULL;
}

/* Make the logins of all nodes: one for all virtual nodes, else one for each. */
static bool logins_make(const struct instance *in, const json_t *nodes, struct password_file *file, struct err *e)
{
	const json_t *row;
	size_t i;
	int made = 0;
	bool ok = true;
	if (in->conf.launcher_virtual > 0) {
		char *names = names_join(nodes);
		ok = login_make(in, names, UP_VIRTUAL_NAME, file, &made, e);
		free(names);
	} else {
		json_array_foreach (nodes, i, row) {
			const char *name = json_string_value(json_object_get(row, "name"));
			ok = ok && login_make(in, name, name, file, &made, e);
		}
	}
	if (made > 0 && !password_file_save(file, ok ? e : &(struct err){0}))
		ok = false;
	return ok;
}

bool up_logins(const struct instance *in, const json_t *nodes, struct err *e)
{
	char *path = db_passfile(&in->conf);
	struct password_file *file = NULL;
	bool ok = doors_open(in, e) && (file = password_file_open(path, e)) && logins_make(in, nodes, file, e);
	if (file)
		password_file_close(file);
	free(path);
	return ok;
}
