/* sql.c - `rota sql`: runs psql on the database of the instance, with the caller's role.
 *
 * Root, the account and the owner of the instance connect as rota_admin. Another user connects as the role of their own name,
 * which an administrator creates (docs/querying.md), to a standby if there is one. The server checks the user id, so nobody can
 * connect as another role. With --standby, everybody connects to a standby if there is one. */
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "lib/db.h"
#include "lib/unreachable.h"

/* Options of `rota sql`, which must come before those of psql. */
const struct verb_option sql_options[] = {
	{256, "standby", NULL, "ask a standby of the database, if there is one"},
	{0, NULL, NULL, NULL},
};

/* Returns true if the caller is root, the account of the instance, or the owner of a private instance. */
static bool runs_instance(const struct conf *conf)
{
	struct stat st;

	if (geteuid() == 0 || !strcmp(conf->instance_account, words_me()))
		return true;
	return conf_is_personal(conf) && !stat(conf->instance_home, &st) && st.st_uid == geteuid();
}

/* Returns true, after printing an error, if the database has no role of the caller's name. psql would not explain that
 * failure. */
static bool lacks_login(const char *conninfo)
{
	PGconn *db = PQconnectdb(conninfo);
	const char *role = PQstatus(db) == CONNECTION_BAD ? strstr(PQerrorMessage(db), "role \"") : NULL;
	bool lacks = role && strstr(role, "\" does not exist");

	PQfinish(db);
	if (!lacks)
		return false;
	fprintf(stderr, "rota: \"%s\" has no login in the database\n", words_me());
	/* Only an administrator can see which of the two commands is needed. */
	fprintf(stderr,
		"hint: Ask an administrator for a login that reads schema acct: rota admin user create %s --analyst=true; "
		"for an existing user, rota admin user change %s --analyst=true\n",
		words_me(), words_me());
	return true;
}

/* Returns true, after printing why and what to do, if no server answers. */
static bool is_unreachable(const char *conninfo)
{
	PGconn *db;

	if (PQping(conninfo) != PQPING_NO_RESPONSE)
		return false;
	db = PQconnectdb(conninfo);
	fprintf(stderr, "rota: " UNREACHABLE ": %shint: " UNREACHABLE_NEXT "\n", PQerrorMessage(db));
	PQfinish(db);
	return true;
}

/* Returns true if the word is options of psql that have no value. */
static bool has_flags(const char *word)
{
	static const char *const LONG[] = {"--csv",	  "--html",  "--expanded",   "--no-align",
					   "--no-psqlrc", "--quiet", "--tuples-only"};
	bool found = word[0] == '-' && strspn(word + 1, "aAbeEHlnqsStwWxXz01") == strlen(word + 1);

	for (size_t i = 0; !found && i < sizeof(LONG) / sizeof(*LONG); i++)
		found = !strcmp(word, LONG[i]);
	return found;
}

/* Add the words of the command line from `argv` on to the arguments of psql. psql takes an operand for the name of a database or
 * a user, and both are in the conninfo. So the first operand is a query, as if -c stood before it. */
static void arguments_add(const char **arguments, int count, char **argv)
{
	for (; *argv && has_flags(*argv); argv++)
		arguments[count++] = *argv;
	if (*argv && **argv != '-')
		arguments[count++] = "-c";
	while (*argv)
		arguments[count++] = *argv++;
}

int verb_sql(const struct verb *verb, int argc, char **argv)
{
	const char **arguments;
	const struct conf *conf;
	struct err e = {0};
	char *conninfo;
	enum db_reader reader = DB_READER_LATE;
	bool runs;
	int from = 1, count = 0;

	if (argc > 1 && !strcmp(argv[1], "--help")) { /* -h is the option for the host, as in psql */
		verb_help_print(verb);
		return EXIT_OK;
	}
	for (; from < argc; from++) {
		if (!strncmp(argv[from], "--config=", 9))
			call_use_config(argv[from] + 9);
		else if (!strcmp(argv[from], "--standby"))
			reader = DB_READER_STANDBY;
		else
			break;
	}
	conf = call_conf();
	if (!db_conninfo_check(conf, &e)) {
		call_error(&e);
		return EXIT_REFUSED;
	}
	arguments = xcalloc(argc + 5, sizeof(*arguments));
	arguments[count++] = "psql";
	arguments[count++] = "-d";
	runs = runs_instance(conf);
	if (runs && reader == DB_READER_LATE)
		reader = DB_READER_PRIMARY;
	conninfo = db_conninfo_reader(conf, runs ? "rota_admin" : words_me(), reader);
	if (is_unreachable(conninfo)) {
		free(conninfo);
		free(arguments);
		return EXIT_NO_GATE;
	}
	if (!runs && lacks_login(conninfo)) {
		free(conninfo);
		free(arguments);
		return EXIT_REFUSED;
	}
	arguments[count++] = conninfo;
	arguments_add(arguments, count, argv + from);
	execvp("psql", (char *const *)arguments);
	fprintf(stderr, "rota: could not execute psql: %s\n", strerror(errno));
	fputs("hint: Install the package \"postgresql-client\".\n", stderr);
	return EXIT_REFUSED;
}
