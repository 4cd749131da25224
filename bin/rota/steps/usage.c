/* usage.c - asks step managers for the present use of resources by running sub-steps (usage.h).
 *
 * Called by: verb/steps.c, verb/top.c. Invariants: sub-steps are listed even without figures: a step manager of an older version
 * refuses the request for figures. */
#include "bin/rota/steps/usage.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/steps/allocation.h"
#include "bin/rota/steps/session.h"

static bool usage_is_running(const json_t *row)
{
	return !strcmp(format_text(row, "state"), "running");
}

static void usage_add(json_t *list, const json_t *usage)
{
	json_t *row, *figures;
	size_t i, k;

	json_array_foreach (list, i, row) {
		if (!usage_is_running(row))
			continue;
		json_array_foreach ((json_t *)usage, k, figures)
			if (json_equal(json_object_get(row, "substep"), json_object_get(figures, "substep")))
				json_object_update(row, figures);
	}
}

json_t *usage_list(struct rota_steps *steps)
{
	json_t *list = rota_steps_list(steps), *usage = NULL, *row;
	size_t i;
	bool runs = false;

	json_array_foreach (list, i, row)
		runs |= usage_is_running(row);
	if (runs)
		usage = rota_steps_usage(steps);
	usage_add(list, usage);
	json_decref(usage);
	return list;
}

/* Returns the running sub-steps of a step with this label; NULL if its step manager cannot be asked. */
static json_t *usage_of_step(const char *verb, const char *label)
{
	struct rota_steps *steps;
	json_t *list, *running = NULL, *row;
	int status, number;
	size_t i;

	if (!allocation_find(verb, label, &number, &status) || !(steps = session_open(verb, &status)))
		return NULL;
	list = usage_list(steps);
	if (list)
		running = json_array();
	json_array_foreach (list, i, row)
		if (usage_is_running(row))
			json_array_append(running, row);
	json_decref(list);
	rota_steps_disconnect(steps);
	return running;
}

void usage_add_substeps(const char *verb, const char *user, json_t *answer)
{
	json_t *asked = json_object(), *step; /* asked: labels; a step may have a line for each node */
	size_t i;

	json_array_foreach (json_object_get(answer, "steps"), i, step) {
		const char *label = format_text(step, "label");
		bool is_own = !strcmp(format_text(step, "user"), user);
		json_t *running = is_own && !json_object_get(asked, label) ? usage_of_step(verb, label) : NULL;

		json_object_set_new(asked, label, json_true());
		if (running)
			json_object_set_new(step, "substeps", running);
	}
	json_decref(asked);
}

struct word usage_percent(const json_t *substep)
{
	const json_t *used = json_object_get(substep, "cpus_used");
	json_int_t own = json_integer_value(json_object_get(substep, "cpus"));
	/* A sub-step with --overlap has no CPUs of its own: count a CPU for each task. */
	json_int_t cpus = own > 0 ? own : json_integer_value(json_object_get(substep, "tasks"));
	struct word w = {"-"};

	if (json_is_number(used))
		snprintf(w.s, sizeof(w.s), "%.0f%%", 100 * json_number_value(used) / (double)(cpus > 0 ? cpus : 1));
	return w;
}

struct word usage_memory(const json_t *substep)
{
	static const struct word unknown = {"-"};
	const json_t *rss = json_object_get(substep, "rss_kb");

	return json_is_integer(rss) ? format_size_kb(rss) : unknown;
}
