/* up_doors.c - who may connect to the PostgreSQL of a private instance: pg_hba.conf and pg_ident.conf. For `rota up`.
 *
 * Peer authentication maps users of the operating system to roles. The instance's account may be every role of Rota, and so may
 * root if root made the instance. The account of runnerd may be rota_runner, and the account of rota-credd rota_credd. Other users
 * may only be the role of their own name. The procmgrd of a node gives a password.
 * Invariants:
 * - A cluster that an older version of Rota made gets the missing lines in front of its other lines. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/instance/process.h"
#include "bin/rota/instance/up.h"

static const char *const ROLES[] = {"postgres",		 "rota_owner",	 "rota_admin",	"rota_jobmgr", "rota_jobmgr_leader",
				    "rota_jobmgr_admin", "rota_nodemgr", "rota_runner", "rota_credd",  "rota_node",
				    "rota_analyst",	 "rota_reader",	 NULL};

/* Lines of pg_hba.conf that let process managers connect. PostgreSQL uses the first line that fits. The owner of the schemas is a
 * member of rota_nodes. */
static const char NODE_DOORS[] = "local rota rota_owner,rota_node peer map=rota\n"
				 "local rota +rota_nodes scram-sha-256\n";

/* Text of pg_hba.conf after NODE_DOORS: only local connections. All roles may connect to database rota, role postgres to every
 * database. */
static const char DOORS[] = "# Rota: nobody comes over a network.\n"
			    "local rota all peer map=rota\n"
			    "local all postgres peer map=rota\n";

/* Returns the text of pg_ident.conf. The lookahead prevents that a user whose name equals a role of Rota may be that role. */
static char *doors_write_ident(const struct instance *in)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	fputs("# Rota: operating system user to database role.\n", out);
	for (const char *const *role = ROLES; *role; role++) {
		fprintf(out, "rota \"%s\" %s\n", in->account, *role);
		if (in->root)
			fprintf(out, "rota root %s\n", *role);
	}
	if (in->root && strcmp(conf_controller_account(&in->conf), in->account) != 0)
		fprintf(out, "rota \"%s\" rota_runner\n", conf_controller_account(&in->conf));
	if (in->root && strcmp(conf_credentials_account(&in->conf), in->account) != 0)
		fprintf(out, "rota \"%s\" rota_credd\n", conf_credentials_account(&in->conf));
	fputs("rota /^(?!postgres$|rota_)(.*)$ \\1\n", out);
	if (fclose(out))
		die("out of memory");
	return text;
}

/* Returns the content of the file `path`, malloc'ed; NULL with an error on failure. */
static char *doors_read(const char *path, struct err *e)
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

/* Write a file of the cluster: first `lines`, which must be in it, then the text `rest`. */
static bool doors_write(const struct instance *in, const char *folder, const char *name, const char *lines, const char *rest,
			struct err *e)
{
	char *path = instance_path(in, "%s/%s", folder, name), *draft = instance_path(in, "%s/%s.new", folder, name);
	FILE *file = fopen(draft, "we");
	bool ok = file && fprintf(file, "%s%s", lines, rest) > 0;

	ok = file && !fclose(file) && ok && !rename(draft, path);
	if (!ok)
		err_sys(e, "could not write \"%s\"", path);
	free(draft);
	free(path);
	return ok;
}

bool up_doors_make(const struct instance *in, const char *folder, struct err *e)
{
	char *ident = doors_write_ident(in);
	bool ok = doors_write(in, folder, "pg_hba.conf", NODE_DOORS, DOORS, e) &&
		  doors_write(in, folder, "pg_ident.conf", ident, "", e);

	free(ident);
	return ok;
}

/* Add the lines to a file of the cluster if the file lacks them. `write` false: only returns whether the file has the lines. */
static bool doors_have(const struct instance *in, const char *name, const char *lines, bool write, struct err *e)
{
	char *path = instance_path(in, "pg/data/%s", name), *text = doors_read(path, e);
	bool ok = text && (strstr(text, lines) || (write && doors_write(in, "pg/data", name, lines, text, e)));

	free(text);
	free(path);
	return ok;
}

static bool doors_have_all(const struct instance *in, bool write, struct err *e)
{
	char *ident = doors_write_ident(in);
	bool ok = doors_have(in, "pg_hba.conf", NODE_DOORS, write, e) && doors_have(in, "pg_ident.conf", ident, write, e);

	free(ident);
	return ok;
}

/* Add missing lines to pg_hba.conf and pg_ident.conf. Runs as the instance's account. */
static bool doors_amend(const struct instance *in, struct err *e)
{
	return doors_have_all(in, true, e);
}

/* Have the PostgreSQL server read pg_hba.conf and pg_ident.conf again. */
static bool doors_reload(const struct instance *in, struct err *e)
{
	char *conninfo = instance_conninfo(in, "postgres", "postgres");
	PGconn *db = PQconnectdb(conninfo);
	PGresult *result = PQexec(db, "select pg_reload_conf()");
	bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
	if (!ok)
		err_set(e, "could not have PostgreSQL read pg_hba.conf: %.*s", (int)strcspn(PQerrorMessage(db), "\n"),
			PQerrorMessage(db));
	PQclear(result);
	PQfinish(db);
	free(conninfo);
	return ok;
}

bool up_doors(const struct instance *in, struct err *e)
{
	struct err unread = {0};

	return doors_have_all(in, false, &unread) || (process_as_account(in, doors_amend, e) && doors_reload(in, e));
}
