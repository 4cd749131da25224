/* hook_environment.c - the environment of hooks and of the mail program.
 *
 * Called by: runner_child.c and runner_mail.c before each start.
 * Invariants:
 * - The names of the variables are fixed in hook_variable.def, and only values come from the database. So no row can set a
 *   variable such as LD_PRELOAD, which makes a program load or read a file. */
#include "runner/hook_environment.h"

#include <stdlib.h>

#include "lib/db.h"
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
		if (!db_is_null(result, row, variables[i].column))
			list[at++] = xasprintf("%s=%s", variables[i].name, db_text(result, row, variables[i].column));
	}
	return list;
}

void hook_environment_free(char **environment)
{
	for (char **item = environment; item && *item; item++)
		free(*item);
	free(environment);
}
