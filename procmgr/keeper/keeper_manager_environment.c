/* keeper_manager_environment.c - the environment of the step manager and its agents: that of a task, and variables only for them.
 *
 * Called by: keeper_manager.c at each start of the program.
 * Invariants:
 * - Variables that only the keeper sets have its values, whatever the user has exported. */
#include <stdlib.h>
#include <string.h>

#include "procmgr/keeper/keeper_parts.h"

/* Returns the environment with one more variable, which is freed with it. */
static char **environment_add(char **environment, char *variable)
{
	size_t count = 0;
	while (environment[count])
		count++;
	environment = xrealloc(environment, (count + 2) * sizeof *environment);
	environment[count] = variable;
	environment[count + 1] = NULL;
	return environment;
}

/* Drop variables of the user with names that only the keeper sets. They come first, and programs use the first of a name. */
static void environment_drop(char **environment)
{
	static const char *const names[] = {
		"ROTA_STEP_HEAD=", "ROTA_STEP_PORTS=", "ROTA_STEP_IDLE=", "ROTA_STEP_TASKS=", "ROTA_STEP_VARIABLES="};
	size_t kept = 0;
	for (size_t at = 0; environment[at]; at++) {
		bool drops = false;
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			drops = drops || strncmp(environment[at], names[i], strlen(names[i])) == 0;
		if (drops)
			free(environment[at]);
		else
			environment[kept++] = environment[at];
	}
	environment[kept] = NULL;
}

/* Add ROTA_STEP_IDLE, the shortest idle limit of the step's sessions in seconds and where it is set, such as
 * "3600 partition debug". */
static char **environment_add_idle_limit(char **environment, const struct order *order)
{
	int job = order->spec.idle_timeout_s, site = order->idle_timeout_s;
	if (job > 0 && (site == 0 || job <= site))
		return environment_add(environment, xasprintf("ROTA_STEP_IDLE=%d job", job));
	if (site > 0 && order->idle_timeout_of)
		return environment_add(environment, xasprintf("ROTA_STEP_IDLE=%d %s", site, order->idle_timeout_of));
	return environment;
}

char **keeper_manager_environment(const struct keeper *k, const char *call)
{
	struct task_facts facts = keeper_place_facts(k, -1);
	facts.credentials = k->delivered;
	facts.tmpdir = k->tmpdir;
	facts.step_socket = k->step_path;
	char **environment = task_environment(k->environment->bytes, k->environment->size, &facts);
	environment_drop(environment);
	if (call)
		environment = environment_add(environment, xstrdup(call));
	if (k->order->spec.per_task)
		environment =
			/* all nodes of the step have tasks of the script */
			environment_add(environment, xstrdup("ROTA_STEP_TASKS=1"));
	if (k->order->variables)
		environment = environment_add(environment, xasprintf("ROTA_STEP_VARIABLES=%s", k->order->variables));
	if (*k->job->conf->node_step_ports)
		environment = environment_add(environment, xasprintf("ROTA_STEP_PORTS=%s", k->job->conf->node_step_ports));
	return environment_add_idle_limit(environment, k->order);
}
