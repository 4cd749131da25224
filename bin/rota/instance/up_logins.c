/* up_logins.c - logins of the nodes of a private instance: makes passwords in keys/node.pass that the database accepts. For `rota
 * up`.
 *
 * Invariants:
 * - A password that the database accepts is kept, so a running process manager is not disturbed. A missing or wrong one is
 *   replaced: after the loss of the file or of the database, or in an instance of an older version, which had no logins of
 *   nodes. */
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

/* Read the verifier of each login of nodes, as {role: verifier}. One query reads all: to try each login in a session of its own
 * would take most of the time of `rota up`. Returns NULL with an error on failure. */
static json_t *verifiers_read(const struct instance *in, struct err *e)
{
	char *conninfo = instance_conninfo(in, "postgres", "postgres");
	PGconn *db = PQconnectdb(conninfo);
	PGresult *result = PQexec(db, "select json_object_agg(a.rolname, a.rolpassword) from pg_authid a "
				      "where a.rolname like 'rota\\_node\\_%' and a.rolcanlogin");
	json_t *all = NULL;
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		all = PQgetisnull(result, 0, 0) ? json_object() : json_loads(PQgetvalue(result, 0, 0), 0, NULL);
	if (!all)
		err_set(e, "could not read the logins of nodes: %.*s", (int)strcspn(PQerrorMessage(db), "\n"),
			PQerrorMessage(db));
	PQclear(result);
	PQfinish(db);
	free(conninfo);
	return all;
}

/* Returns true if the database accepts the password that the file has for a login. */
static bool login_works(const json_t *verifiers, const char *login, const struct password_file *file)
{
	char *role = xasprintf("rota_node_%s", login);
	const char *verifier = json_string_value(json_object_get(verifiers, role)), *password = password_file_get(file, role);
	bool works = verifier && password && enroll_fits(verifier, password);
	free(role);
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
static bool login_make(const struct instance *in, const json_t *verifiers, const char *names, const char *login,
		       struct password_file *file, int *made, struct err *e)
{
	if (login_works(verifiers, login, file))
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
	json_t *verifiers = verifiers_read(in, e);
	bool ok = verifiers != NULL;
	if (ok && in->conf.launcher_virtual > 0) {
		char *names = names_join(nodes);
		ok = login_make(in, verifiers, names, UP_VIRTUAL_NAME, file, &made, e);
		free(names);
	} else {
		json_array_foreach (nodes, i, row) {
			const char *name = json_string_value(json_object_get(row, "name"));
			ok = ok && login_make(in, verifiers, name, name, file, &made, e);
		}
	}
	json_decref(verifiers);
	if ((made > 0 || !password_file_is_given(file)) && !password_file_save(file, ok ? e : &(struct err){0}))
		ok = false;
	return ok;
}

bool up_logins(const struct instance *in, const json_t *nodes, struct err *e)
{
	char *path = db_passfile(&in->conf);
	struct password_file *file = NULL;
	bool ok = (file = password_file_open(path, conf_node_account(&in->conf), e)) && logins_make(in, nodes, file, e);
	if (file)
		password_file_close(file);
	free(path);
	return ok;
}
