/* substep_nodelist.c - the nodes of the step as tasks of sub-steps see them, once some were given back (substep_nodelist.h).
 *
 * Called by: substep_engine.c before tasks start, substep_environment.c on the node of each task.
 * Invariants:
 * - Nodes are only taken out of ROTA_NODELIST, so a list that the client has made shorter before its request stays short.
 * - An updated environment begins with ROTA_NODELIST. */
#include "procmgr/stepmgr/substep_nodelist.h"

#include <stdlib.h>
#include <string.h>

#include "lib/hosts.h"

static const char LIST[] = "ROTA_NODELIST=";

/* Names of variables that have the list of nodes in Slurm's form, and of variables that have the number of nodes in it. */
static const char *const folded_names[] = {"SLURM_NODELIST=", "SLURM_JOB_NODELIST=", "SLURM_STEP_NODELIST="};
static const char *const count_names[] = {"ROTA_NNODES=", "SLURM_NNODES=", "SLURM_JOB_NUM_NODES=", "PBS_NUM_NODES="};

/* Returns the value of a variable if its name, with "=", is this one; else NULL. */
static const char *value_of(const char *variable, const char *name)
{
	size_t length = strlen(name);
	return strncmp(variable, name, length) == 0 ? variable + length : NULL;
}

static bool is_one_of(const char *variable, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (value_of(variable, names[i]))
			return true;
	return false;
}

/* Returns the value of ROTA_NODELIST in the environment of a request; if it is not there, as in a request from outside the job,
 * that of this process. */
static const char *find_list(const json_t *env)
{
	size_t i;
	json_t *value;
	json_array_foreach (env, i, value) {
		const char *list = value_of(json_string_value(value), LIST);
		if (list)
			return list;
	}
	return getenv("ROTA_NODELIST");
}

/* Returns the list without the nodes that were given back, malloc'ed; NULL: no node of the list was given back. */
static char *shorten_list(const struct substep_nodes *n, const char *list)
{
	char *copy = xstrdup(list), *kept = xcalloc(strlen(list) + 1, 1), *save;
	bool changed = false;
	for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		if (substep_nodes_is_given_back(n, name)) {
			changed = true;
			continue;
		}
		if (*kept)
			strcat(kept, ",");
		strcat(kept, name);
	}
	free(copy);
	if (changed)
		return kept;
	free(kept);
	return NULL;
}

/* Returns a variable "NAME=value" with its value changed for this list of nodes, malloc'ed; NULL: the variable is ROTA_NODELIST
 * itself. */
static char *nodelist_rewrite(const char *variable, const char *list)
{
	enum { FOLDED = sizeof folded_names / sizeof *folded_names, COUNTS = sizeof count_names / sizeof *count_names };
	int name_size = (int)strcspn(variable, "=") + 1;
	if (value_of(variable, LIST))
		return NULL;
	if (is_one_of(variable, count_names, COUNTS))
		return xasprintf("%.*s%d", name_size, variable, hosts_count(list));
	if (!is_one_of(variable, folded_names, FOLDED))
		return xstrdup(variable);
	char *folded = hosts_fold(list), *text = xasprintf("%.*s%s", name_size, variable, folded);
	free(folded);
	return text;
}

/* Returns a new environment with ROTA_NODELIST set to this list of nodes, and with variables such as SLURM_JOB_NODELIST changed
 * to it. */
static json_t *replace_list(const json_t *env, const char *list)
{
	json_t *updated = json_array(), *value;
	size_t i;
	json_array_append_new(updated, json_sprintf("%s%s", LIST, list));
	json_array_foreach (env, i, value) {
		char *variable = nodelist_rewrite(json_string_value(value), list);
		if (variable)
			json_array_append_new(updated, json_string(variable));
		free(variable);
	}
	return updated;
}

void substep_nodelist_update(const struct substep_nodes *n, struct substep_spec *spec)
{
	const char *list = substep_nodes_gave_back(n) ? find_list(spec->env) : NULL;
	char *kept = list ? shorten_list(n, list) : NULL;
	if (!kept)
		return;
	json_t *updated = replace_list(spec->env, kept);
	if (json_object_get(spec->request, "env"))
		json_object_set(spec->request, "env", updated);
	json_decref(spec->env);
	spec->env = updated;
	free(kept);
}

/* Returns the list of nodes of an updated environment; NULL: the environment was not updated. */
static const char *updated_list(const struct substep_spec *spec)
{
	const char *first = json_string_value(json_array_get(spec->env, 0));
	return first ? value_of(first, LIST) : NULL;
}

char *substep_nodelist_variable(const struct substep_spec *spec, const char *variable)
{
	const char *list = updated_list(spec);
	return list ? nodelist_rewrite(variable, list) : xstrdup(variable);
}

int substep_nodelist_index(const struct substep_spec *spec, const char *node)
{
	const char *list = updated_list(spec);
	return list ? hosts_find(list, node) : -1;
}
