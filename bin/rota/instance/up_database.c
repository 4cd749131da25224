/* up_database.c - the PostgreSQL of a private instance: cluster, server, database, schema. For `rota up`.
 *
 * The server listens only on a socket in run/. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/admin/admin_db.h"
#include "bin/rota/instance/process.h"
#include "bin/rota/instance/up.h"
#include "lib/text.h"

enum {
	OLDEST_POSTGRES = 15,
	START_SECONDS = 60,
	STOP_SECONDS = 30,
	CONNECTIONS_OTHERS = 60 /* connections for daemons, analysts and readers; each login of nodes needs one more connection */
};

/* Settings in which a small private server differs from PostgreSQL's defaults. Durability is not reduced. */
static const char SETTINGS[] = "\n# Rota: a private server, reached by its socket only.\n"
			       "listen_addresses = ''\n"
			       "unix_socket_permissions = 0777\n"
			       "max_connections = 100\n"
			       "shared_buffers = 128MB\n"
			       "max_wal_size = 512MB\n"
			       "max_locks_per_transaction = 256\n"
			       "autovacuum_naptime = 15s\n"
			       "jit = off\n"
			       "log_checkpoints = off\n"
			       "logging_collector = off\n"
			       "log_destination = 'stderr'\n"
			       "log_line_prefix = '%m [%p] %q%u@%d '\n";

/* Returns the newest bin folder under /usr/lib/postgresql of version OLDEST_POSTGRES or later; malloc'ed. Returns NULL if
 * there is none. */
static char *bindir_debian(void)
{
	glob_t found;
	char *best = NULL;
	int newest = OLDEST_POSTGRES - 1;

	if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found))
		return NULL;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int version = atoi(found.gl_pathv[i] + strlen("/usr/lib/postgresql/"));

		if (version <= newest)
			continue;
		newest = version;
		free(best);
		best = xstrndup(found.gl_pathv[i], strlen(found.gl_pathv[i]) - strlen("/postgres"));
	}
	globfree(&found);
	return best;
}

/* Returns the folder that `pg_config --bindir` prints, malloc'ed; NULL if there is no program postgres in it. */
static char *bindir_pg_config(void)
{
	FILE *out = popen("pg_config --bindir 2>/dev/null", "re");
	char line[1024] = "", *path;

	if (!out)
		return NULL;
	if (!fgets(line, sizeof(line), out))
		line[0] = '\0';
	pclose(out);
	line[strcspn(line, "\n")] = '\0';
	path = xasprintf("%s/postgres", line);
	if (!line[0] || access(path, X_OK)) {
		free(path);
		return NULL;
	}
	free(path);
	return xstrdup(line);
}

/* Returns the folder of initdb and postgres, malloc'ed; NULL with an error if there is none. */
static char *bindir(struct err *e)
{
	const char *said = getenv("ROTA_PG_BINDIR");
	char *dir = said ? xstrdup(said) : bindir_debian();

	if (!dir)
		dir = bindir_pg_config();
	if (!dir) {
		err_set(e, "there is no PostgreSQL %d or later on this machine", OLDEST_POSTGRES);
		err_hint(e, "Install the package \"postgresql\", or set ROTA_PG_BINDIR to the folder of initdb and postgres.");
	}
	return dir;
}

static bool settings_append(const struct instance *in, struct err *e)
{
	char *path = instance_path(in, "pg/data.new/postgresql.conf"), *run = instance_path(in, "run"),
	     *quoted = text_quoted(run);
	FILE *file = fopen(path, "ae");
	bool ok = file && fprintf(file, "%sunix_socket_directories = '%s'\n", SETTINGS, quoted) > 0;

	ok = file && !fclose(file) && ok;
	if (!ok)
		err_sys(e, "could not write \"%s\"", path);
	free(quoted);
	free(run);
	free(path);
	return ok;
}

/* Configure the new cluster and rename its folder to pg/data; runs as the account. */
static bool cluster_finish(const struct instance *in, struct err *e)
{
	char *draft = instance_path(in, "pg/data.new"), *data = instance_path(in, "pg/data");
	bool ok = settings_append(in, e) && up_doors_make(in, "pg/data.new", e);

	if (ok && rename(draft, data))
		ok = err_sys(e, "could not rename \"%s\"", draft);
	free(data);
	free(draft);
	return ok;
}

/* Run initdb if there is no cluster yet. A partial cluster of an interrupted call is removed first. */
static bool cluster_make(const struct instance *in, const char *bin, struct err *e)
{
	char *version = instance_path(in, "pg/data/PG_VERSION"), *draft = instance_path(in, "pg/data.new");
	char *initdb = xasprintf("%s/initdb", bin);
	const char *clean[] = {"/bin/rm", "-rf", "--", draft, NULL};
	const char *make[] = {initdb,
			      "-D",
			      draft,
			      "-U",
			      "postgres",
			      "-A",
			      "peer",
			      "-E",
			      "UTF8",
			      "--locale=C.UTF-8",
			      "--data-checksums",
			      "--no-instructions",
			      NULL};
	bool ok = true;

	if (access(version, F_OK)) {
		instance_say(in, "making a PostgreSQL cluster");
		ok = process_run(in, "initdb", clean, e) && process_run(in, "initdb", make, e) &&
		     process_as_account(in, cluster_finish, e);
		up_seen_forget(in); /* the incarnations that daemons and nodes have stored are of an earlier database */
	}
	free(initdb);
	free(draft);
	free(version);
	return ok;
}

static bool database_answers(const struct instance *in, const void *arg)
{
	char *conninfo = instance_conninfo(in, "postgres", "postgres");
	bool ok = PQping(conninfo) == PQPING_OK;

	(void)arg;
	free(conninfo);
	return ok;
}

static pid_t server_find(const struct instance *in, const void *arg)
{
	(void)arg;
	return instance_postgres(in);
}

static bool is_gone(const struct instance *in, const void *arg)
{
	(void)arg;
	return !instance_postgres_any(in);
}

/* Wait for the end of all children of a killed PostgreSQL server, then remove its lock files. The children end by themselves. */
static bool server_prepare(const struct instance *in, struct err *e)
{
	if (process_await(in, "postgres", 0, START_SECONDS, is_gone, NULL, e))
		return process_as_account(in, instance_postgres_unlock, e);
	err_set(e, "process %d of a PostgreSQL that was killed still runs in \"%s/pg/data\"", (int)instance_postgres_any(in),
		in->home);
	return err_hint(e, "End that process, then run \"rota up\" again.");
}

/* Start the PostgreSQL server if it does not run. */
static bool server_start(const struct instance *in, const char *bin, struct err *e)
{
	char *postgres = xasprintf("%s/postgres", bin), *data = instance_path(in, "pg/data");
	const char *argv[] = {postgres, "-D", data, NULL};
	bool ok = process_have(in,
			       &(struct process_part){.what = "PostgreSQL",
						      .log = "postgres",
						      .argv = argv,
						      .find = server_find,
						      .ready = database_answers,
						      .prepare = server_prepare,
						      .seconds = START_SECONDS},
			       e);

	free(data);
	free(postgres);
	return ok;
}

/* Run the SQL command, unless the query `question` returns a row. Sets *done if the command was run. */
static bool server_change(PGconn *db, const char *question, const char *command, bool *done, struct err *e)
{
	PGresult *result = PQexec(db, question);
	bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;

	*done = ok && PQntuples(result) == 0;
	if (*done) {
		PQclear(result);
		result = PQexec(db, command);
		ok = PQresultStatus(result) == PGRES_COMMAND_OK;
	}
	if (!ok)
		err_set(e, "PostgreSQL: \"%s\": %.*s", *done ? command : question, (int)strcspn(PQerrorMessage(db), "\n"),
			PQerrorMessage(db));
	PQclear(result);
	return ok;
}

/* Returns the number of logins of nodes, including the nodes that the command line asks for. */
static int logins_count(const struct instance *in, const struct up_wish *wish)
{
	char **nodes = instance_nodes(in);
	int count = 0;

	while (nodes[count])
		count++;
	instance_names_free(nodes);
	if (in->conf.launcher_virtual > 0)
		return 1;
	return count > wish->nodes ? count : wish->nodes;
}

/* Create the database rota if it does not exist. Set max_connections to at least `connections`, which is for nodes and all
 * others, from the next start of the server on. Sets *widened if the running server has fewer. A larger number is kept. */
static bool server_prepare_database(const struct instance *in, int connections, bool *widened, struct err *e)
{
	char *conninfo = instance_conninfo(in, "postgres", "postgres");
	char *question = xasprintf("select where current_setting('max_connections')::int >= %d", connections);
	char *command = xasprintf("alter system set max_connections = %d", connections);
	PGconn *db = PQconnectdb(conninfo);
	bool made, ok = server_change(db, "select from pg_database where datname = 'rota'", "create database rota", &made, e) &&
			server_change(db, question, command, widened, e);

	PQfinish(db);
	free(command);
	free(question);
	free(conninfo);
	return ok;
}

/* Make the database, and restart the server if its max_connections is too low. Daemons that run connect again. */
static bool database_make(const struct instance *in, const char *bin, const struct up_wish *wish, struct err *e)
{
	int connections = CONNECTIONS_OTHERS + logins_count(in, wish);
	bool widened;

	if (!server_prepare_database(in, connections, &widened, e))
		return false;
	if (!widened)
		return true;
	instance_say(in, "PostgreSQL starts again, to take %d connections", connections);
	if (!process_end(in, instance_postgres(in), SIGINT, STOP_SECONDS, server_find, NULL))
		return err_set(e, "could not end PostgreSQL (pid %d)", (int)instance_postgres(in));
	return server_start(in, bin, e);
}

/* Upgrade the schema to that of this program. */
static bool schema_upgrade(const struct instance *in, struct err *e)
{
	char *conninfo = instance_conninfo(in, "rota", "postgres");
	struct admin_db_report report;
	bool ok = admin_db_upgrade(conninfo, &report, e);

	free(conninfo);
	if (ok && report.migrations)
		instance_say(in, "database: %d migration%s applied, now at %04d", report.migrations,
			     text_plural(report.migrations), report.version);
	else if (ok && report.files)
		instance_say(in, "database: functions and views renewed");
	return ok;
}

bool up_database(const struct instance *in, const struct up_wish *wish, struct err *e)
{
	char *bin = bindir(e);
	bool ok = bin && cluster_make(in, bin, e) && server_start(in, bin, e) && database_make(in, bin, wish, e) &&
		  up_doors(in, e) && schema_upgrade(in, e);

	free(bin);
	return ok;
}
