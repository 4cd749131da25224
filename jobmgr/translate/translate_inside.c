/* translate_inside.c - if steps of a script are to run as sub-steps, refuses the options that a step manager cannot honour.
 *
 * Called by: translate.c for requests with `inside`.
 * Invariants:
 * - An option that `can` does not list is refused with its line, so a new option is refused until it is listed. */
#include <stdio.h>
#include <string.h>

#include "jobmgr/translate/translate_parts.h"

/* Options that sub-steps have too, or that only the translator reads. */
static const bool can[OPTION_SETTINGS] = {
	[OPTION_ID_PRIORITY] = true,	  [OPTION_ID_EXPORT] = true,
	[OPTION_ID_STRICT] = true,	  [OPTION_ID_TIME] = true,
	[OPTION_ID_NODES] = true,	  [OPTION_ID_NODELIST] = true,
	[OPTION_ID_EXCLUDE] = true,	  [OPTION_ID_EXCLUSIVE] = true,
	[OPTION_ID_NTASKS] = true,	  [OPTION_ID_NTASKS_PER_NODE] = true,
	[OPTION_ID_CPUS_PER_TASK] = true, [OPTION_ID_MEM] = true,
	[OPTION_ID_GRES] = true,	  [OPTION_ID_GPUS] = true,
	[OPTION_ID_GPUS_PER_NODE] = true, [OPTION_ID_OUTPUT] = true,
	[OPTION_ID_ERROR] = true,	  [OPTION_ID_INPUT] = true,
	[OPTION_ID_WORKDIR] = true,	  [OPTION_ID_SHELL] = true,
	[OPTION_ID_RUN] = true,		  [OPTION_ID_ARRAY] = true,
	[OPTION_ID_RETRY] = true,	  [OPTION_ID_AFTER] = true,
	[OPTION_ID_DEPENDENCY] = true,
};

static void inside_refuse(struct translation *t, int line, enum option_id id, const char *what, const char *hint)
{
	char option[64];

	snprintf(option, sizeof(option), "--%s", option_row(id)->name);
	if (translate_refuse(t, line, option, "%s", what))
		translate_hint(t, "%s", hint);
}

/* Refuse the options of one set that sub-steps do not have, and values that sub-steps cannot have. */
static void inside_check_set(struct translation *t, const struct translate_set *set)
{
	for (int id = 0; id < OPTION_SETTINGS; id++)
		if (set->of[id].value && !can[id])
			inside_refuse(
				t, set->of[id].line, (enum option_id)id, "a step inside an allocation cannot have this option",
				"give the option to the job that has the allocation, or submit the file by \"rota submit\"");
	if (json_is_integer(set->of[OPTION_ID_MEM].value) && !json_integer_value(set->of[OPTION_ID_MEM].value))
		inside_refuse(t, set->of[OPTION_ID_MEM].line, OPTION_ID_MEM,
			      "0 does not stand for all memory inside an allocation", "name a size, or leave the option out");
	if (json_is_string(set->of[OPTION_ID_SHELL].value) && !strcmp(json_string_value(set->of[OPTION_ID_SHELL].value), "login"))
		inside_refuse(t, set->of[OPTION_ID_SHELL].line, OPTION_ID_SHELL, "a step inside an allocation has no login shell",
			      "name a shell by its path");
}

/* Refuse conditions of a step on steps outside its file. */
static void inside_check_edges(struct translation *t)
{
	for (int i = 0; i < t->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[i];

		if (edge->kind != TRANSLATE_AFTER || edge->peer >= 0)
			continue;
		if (translate_refuse(t, edge->line, edge->option, "a step inside an allocation waits only for steps of its file"))
			translate_hint(t, "let the job that has the allocation wait for other jobs");
	}
}

void translate_inside(struct translation *t)
{
	const struct translate_set *const sets[] = {&t->command, &t->rota, &t->slurm, &t->pbs};

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		inside_check_set(t, sets[i]);
	for (int i = 0; i < t->step_count && !translate_has_enough_problems(t); i++)
		inside_check_set(t, &t->steps[i].own);
	inside_check_edges(t);
	if (t->transfer_count > 0 &&
	    translate_refuse(t, t->transfers[0].line, "", "a step inside an allocation transfers no data"))
		translate_hint(t, "give the line to the job that has the allocation");
}

void translate_inside_sizes(struct translation *t)
{
	for (int i = 0; i < t->step_count && !translate_has_enough_problems(t); i++) {
		const struct translate_step *s = &t->steps[i];
		const char *run = json_string_value(translate_value(t, s, OPTION_ID_RUN));
		bool once = !run || strcmp(run, "tasks") != 0;

		if (s->nodes_max && s->nodes_min != s->nodes_max)
			inside_refuse(t, translate_find_line(t, s, OPTION_ID_NODES), OPTION_ID_NODES,
				      "a step inside an allocation has a fixed number of nodes", "name one number");
		else if (once && s->nodes_min > 1)
			inside_refuse(t, translate_find_line(t, s, OPTION_ID_NODES), OPTION_ID_NODES,
				      "the script runs once, on one node", "add --run=tasks to run it once for each task");
	}
}
