/* hook_environment.c - the environment of a hook, from one row of the database's answer, and of the mail program.
 *
 * Called by the runner before each start. What always holds: names are ours (hook_variable.def), only values come from the
 * database, so nothing there can make a program load or read anything. */
#include "runner/hook_environment.h"

#include <stdlib.h>

#include "lib/err.h"

static const struct {
	const char *name, *column;
} variables[] = {
#define HOOK_VARIABLE(name, column, help) {#name, #column},
#include "runner/hook_variable.def"
#undef HOOK_VARIABLE
};

enum { VARIABLES = sizeof variables / sizeof *variables, OTHERS = 3 };

char **hook_environment(const PGresult *result, int row, const char *cluster)
{
	char **list = xcalloc(VARIABLES + OTHERS + 1, sizeof *list);
	int at = 0;

	list[at++] = xstrdup("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	list[at++] = xasprintf("ROTA_CLUSTER=%s", cluster);
	list[at++] = xasprintf("SLURM_CLUSTER_NAME=%s", cluster);
	for (int i = 0; result && i < VARIABLES; i++) {
		int column = PQfnumber(result, variables[i].column);

		if (column < 0)
			die("the database does not tell \"%s\" of a hook", variables[i].column);
		if (!PQgetisnull(result, row, column))
			list[at++] = xasprintf("%s=%s", variables[i].name, PQgetvalue(result, row, column));
	}
	return list;
}

void hook_environment_free(char **environment)
{
	for (char **item = environment; item && *item; item++)
		free(*item);
	free(environment);
}
