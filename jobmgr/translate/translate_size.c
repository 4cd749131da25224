/* translate_size.c - computes the size of each step: nodes, tasks, elements of arrays. Also numbers the steps, and checks that
 * the options of a step agree.
 *
 * Called by: translate.c after the graph is known, and translate_modify.c, both only if there is no problem.
 * Invariants:
 * - Without a problem, each node has a task, and ntasks * cpus_per_task and all ids fit an int. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/translate_parts.h"
#include "lib/text.h"

static int64_t size_divide_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static int64_t size_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void size_read(struct translation *t, struct translate_step *s)
{
	const json_t *nodes = translate_value(t, s, OPTION_ID_NODES);
	int64_t listed = (int64_t)json_array_size(translate_value(t, s, OPTION_ID_NODELIST));
	s->ntasks = translate_number(t, s, OPTION_ID_NTASKS, 0);
	s->ntasks_per_node = translate_number(t, s, OPTION_ID_NTASKS_PER_NODE, 0);
	s->cpus_per_task = translate_number(t, s, OPTION_ID_CPUS_PER_TASK, 1);
	s->elements = json_integer_value(json_object_get(translate_value(t, s, OPTION_ID_ARRAY), "size"));
	s->nodes_named = nodes || listed > 0;
	s->nodes_min = 1;
	s->nodes_max = 0;
	if (nodes) {
		s->nodes_min = json_integer_value(json_array_get(nodes, 0));
		s->nodes_max = json_integer_value(json_array_get(nodes, 1));
	} else if (listed > 0) {
		s->nodes_min = s->ntasks ? size_least(listed, s->ntasks) : listed;
		s->nodes_max = listed;
	} else if (s->ntasks && s->ntasks_per_node) {
		s->nodes_min = size_divide_up(s->ntasks, s->ntasks_per_node);
	}
	if (!s->nodes_named && translate_number(t, s, OPTION_ID_GPUS, 0) > 0)
		s->nodes_max = s->nodes_min;
}

static void size_write_count(char *text, size_t size, const struct translate_step *s)
{
	if (s->nodes_min == s->nodes_max)
		snprintf(text, size, "%" PRId64 " node%s", s->nodes_min, text_plural(s->nodes_min));
	else
		snprintf(text, size, "%" PRId64 " to %" PRId64 " nodes", s->nodes_min, s->nodes_max);
}

static void size_refuse_difference(struct translation *t, const struct translate_step *s, const struct translate_step *peer)
{
	char own[48], others[48];
	size_write_count(own, sizeof own, s);
	size_write_count(others, sizeof others, peer);
	translate_refuse(t, s->line, "--same-nodes", "\"%s\" requests %s, but \"%s\", whose nodes it shares, requests %s",
			 s->name, own, peer->name, others);
	translate_hint(t, "remove --nodes from one of the two steps; that step then has the nodes of the other");
}

/* Set the same number of nodes for steps on the same nodes: the number that one of them requests, or else the most that one
 * needs. */
static void size_share_nodes(struct translation *t)
{
	struct translate_step **named = xcalloc((size_t)t->step_count, sizeof(struct translate_step *));
	for (int i = 0; i < t->step_count; i++) {
		struct translate_step *s = &t->steps[i], *first = &t->steps[s->same];
		if (s->nodes_named && !named[s->same])
			named[s->same] = s;
		else if (s->nodes_named &&
			 (s->nodes_min != named[s->same]->nodes_min || s->nodes_max != named[s->same]->nodes_max))
			size_refuse_difference(t, s, named[s->same]);
		if (s->nodes_min > first->nodes_min && !named[s->same])
			first->nodes_min = s->nodes_min;
	}
	for (int i = 0; i < t->step_count; i++) {
		struct translate_step *s = &t->steps[i];
		const struct translate_step *from = named[s->same] ? named[s->same] : &t->steps[s->same];
		s->nodes_min = from->nodes_min;
		s->nodes_max = from->nodes_max;
	}
	free(named);
}

/* Check the number of a step's tasks against its number of nodes. If the number of tasks was not given, set it. */
static void size_place_tasks(struct translation *t, struct translate_step *s)
{
	int64_t asked = s->ntasks;
	if (!asked)
		s->ntasks = s->ntasks_per_node ? s->ntasks_per_node * s->nodes_min : s->nodes_min;
	if (asked && asked < s->nodes_min) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_NTASKS), "--ntasks",
				 "%" PRId64 " nodes need at least %" PRId64 " tasks", s->nodes_min, s->nodes_min);
		translate_hint(t, "request more tasks, or fewer nodes");
	} else if (asked && s->ntasks_per_node && s->nodes_max && asked > s->ntasks_per_node * s->nodes_max) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_NTASKS), "--ntasks",
				 "%" PRId64 " tasks are more than %" PRId64 " on each of %" PRId64 " node%s", asked,
				 s->ntasks_per_node, s->nodes_max, text_plural(s->nodes_max));
	} else if (s->ntasks > INT_MAX / s->cpus_per_task) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_CPUS_PER_TASK), "--cpus-per-task",
				 "%" PRId64 " task%s of %" PRId64 " CPU%s are more than a step can have", s->ntasks,
				 text_plural(s->ntasks), s->cpus_per_task, text_plural(s->cpus_per_task));
	}
	if (asked && s->nodes_max > asked && asked >= s->nodes_min)
		s->nodes_max = asked;
	if (asked && s->ntasks_per_node > asked) {
		char what[96];
		snprintf(what, sizeof what, "%" PRId64 " tasks on a node are more than the %" PRId64 " of --ntasks",
			 s->ntasks_per_node, asked);
		translate_warn(t, translate_find_line(t, s, OPTION_ID_NTASKS_PER_NODE), "--ntasks-per-node", what,
			       ", which counts");
	}
}

/* Check --gpus, which is the number of GPUs on all nodes together: it must be a multiple of the number of nodes. */
static void size_check_gpus(struct translation *t, const struct translate_step *s)
{
	int which = translate_choose_rival(t, s, OPTION_ID_GPUS, OPTION_ID_GPUS_PER_NODE),
	    line = translate_find_line(t, s, OPTION_ID_GPUS);
	int64_t gpus = which == OPTION_ID_GPUS ? translate_number(t, s, OPTION_ID_GPUS, 0) : 0;
	if (gpus == 0)
		return;
	if (s->nodes_min != s->nodes_max)
		translate_refuse(t, line, "--gpus",
				 "the option counts the GPUs of all nodes, but the number of nodes is not fixed");
	else if (gpus % s->nodes_min != 0)
		translate_refuse(t, line, "--gpus", "%" PRId64 " is not a multiple of the %" PRId64 " nodes", gpus, s->nodes_min);
	else
		return;
	translate_hint(t, "give the number on each node by --gpus-per-node");
}

static void size_check_lists(struct translation *t, const struct translate_step *s)
{
	const json_t *wanted = translate_value(t, s, OPTION_ID_NODELIST), *excluded = translate_value(t, s, OPTION_ID_EXCLUDE);
	int64_t listed = (int64_t)json_array_size(wanted);
	if (listed > 0 && s->nodes_min > listed) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_NODELIST), "--nodelist",
				 "%" PRId64 " nodes are requested, but the list names %" PRId64, s->nodes_min, listed);
		translate_hint(t,
			       "name at least as many nodes as are requested; without --nodes, the step has all that are named");
	}
	if (!listed || !json_array_size(excluded))
		return;
	json_t *names = json_object(), *host;
	size_t i;
	json_array_foreach (excluded, i, host)
		json_object_set(names, json_string_value(host), host);
	json_array_foreach (wanted, i, host)
		if (json_object_get(names, json_string_value(host))) {
			translate_refuse(t, translate_find_line(t, s, OPTION_ID_EXCLUDE), "--exclude",
					 "node \"%s\" is in --nodelist too", json_string_value(host));
			break;
		}
	json_decref(names);
}

static bool size_is_changed(const struct translation *t, enum option_id id)
{
	return !t->modifies || t->command.of[id].value;
}

static void size_check_times(struct translation *t, const struct translate_step *s)
{
	int64_t limit = translate_number(t, s, OPTION_ID_TIME, 0), shortest = translate_number(t, s, OPTION_ID_TIME_MIN, 0);
	int64_t begin = translate_number(t, s, OPTION_ID_BEGIN, 0), deadline = translate_number(t, s, OPTION_ID_DEADLINE, 0);
	int64_t now = t->request->now, from = begin > now ? begin : now, needed = shortest ? shortest : limit;
	int line = translate_find_line(t, s, OPTION_ID_DEADLINE);
	if (limit && shortest > limit)
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_TIME_MIN), "--time-min",
				 "the lowest time limit is longer than --time");
	if (!deadline || !(size_is_changed(t, OPTION_ID_DEADLINE) || size_is_changed(t, OPTION_ID_BEGIN)))
		return;
	if (deadline <= now)
		translate_refuse(t, line, "--deadline", "the deadline has passed");
	else if (deadline <= begin)
		translate_refuse(t, line, "--deadline", "the deadline is not after --begin");
	else if (needed > deadline - from) {
		translate_refuse(t, line, "--deadline",
				 "the step may need %" PRId64 " second%s, and %" PRId64 " %s left before it", needed,
				 text_plural(needed), deadline - from, deadline - from == 1 ? "is" : "are");
		translate_hint(t, "with --time-min, the time limit may be cut to fit");
	}
}

/* Refuse options that contradict --eternal: such a step has no end, and is queued again. */
static void size_check_eternal(struct translation *t, const struct translate_step *s)
{
	int line = translate_find_line(t, s, OPTION_ID_ETERNAL);
	if (!json_is_true(translate_value(t, s, OPTION_ID_ETERNAL)))
		return;
	if (json_is_false(translate_value(t, s, OPTION_ID_REQUEUE))) {
		translate_refuse(t, line, "--eternal", "the step must not run again");
		translate_hint(t, "leave out --no-requeue");
	} else if (translate_number(t, s, OPTION_ID_DEADLINE, 0)) {
		translate_refuse(t, line, "--eternal", "the step has a deadline");
		translate_hint(t, "leave out --deadline");
	}
}

/* Returns a hash of the indices of an array (FNV-1a). */
static uint64_t size_hash_indices(const struct translation *t, const struct translate_step *s)
{
	const json_t *list = json_object_get(translate_value(t, s, OPTION_ID_ARRAY), "indices");
	uint64_t number = 14695981039346656037u;
	for (size_t i = 0; i < json_array_size(list); i++)
		for (size_t j = 0; j < 3; j++)
			number = (number ^ (uint64_t)json_integer_value(json_array_get(json_array_get(list, i), j))) *
				 1099511628211u;
	return number;
}

static void size_check_corr(struct translation *t)
{
	uint64_t *numbers = xcalloc((size_t)t->step_count, sizeof *numbers);
	for (int i = 0; i < t->step_count; i++)
		numbers[i] = t->steps[i].elements ? size_hash_indices(t, &t->steps[i]) : 0;
	for (int i = 0; i < t->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[i];
		const struct translate_step *s = &t->steps[edge->step], *peer = edge->peer >= 0 ? &t->steps[edge->peer] : NULL;
		if (edge->condition != TRANSLATE_CORR || edge->kind != TRANSLATE_AFTER)
			continue;
		if (!s->elements || (peer && !peer->elements)) {
			translate_refuse(t, edge->line, edge->option, "\"%s\" is not an array, but \"corr\" is for two arrays",
					 !s->elements ? s->name : peer->name);
			translate_hint(t, "with \"corr\", each element waits for the element of the same index");
		} else if (peer && (s->elements != peer->elements || numbers[edge->step] != numbers[edge->peer])) {
			translate_refuse(t, edge->line, edge->option, "\"%s\" and \"%s\" have different indices", s->name,
					 peer->name);
			translate_hint(t, "with \"corr\", each element waits for the element of the same index");
		}
	}
	free(numbers);
}

static void size_number_steps(struct translation *t)
{
	int64_t id = 0;
	for (int i = 0; i < t->step_count; i++) {
		t->steps[i].id = (int)id;
		id += 1 + t->steps[i].elements;
		if (id <= INT_MAX)
			continue;
		translate_refuse(t, t->steps[i].line, "--array", "the script has more than %d steps and elements of arrays",
				 INT_MAX);
		return;
	}
}

/* Returns about how many bytes the value of an option takes in the plan. */
static size_t size_weigh(const json_t *value)
{
	enum { ITEM = 32, MEMBER = 96 };
	size_t indices = json_array_size(json_object_get(value, "indices"));
	return json_string_length(value) + ITEM * (json_array_size(value) + indices) + MEMBER * json_object_size(value);
}

/* Refuse a script whose options and arguments take too much space. Options before the first step are stored with each step, so
 * they count once for each. */
static bool size_check_weight(struct translation *t)
{
	enum { MOST = 32 << 20, STEP = 1024 };
	size_t sum = 0, arguments = 0;
	for (int i = 0; i < t->request->argument_count; i++)
		arguments += 16 + strlen(t->request->arguments[i]);
	for (int i = 0; i < t->step_count; i++) {
		const struct translate_step *s = &t->steps[i];
		sum += STEP + 3 * strlen(t->request->workdir) + arguments;
		for (int id = 0; id < OPTION_SETTINGS; id++) {
			const struct option_row *row = option_row((enum option_id)id);
			if (row->level == OPTION_STEP && row->kind != OPTION_AFTER)
				sum += size_weigh(translate_value(t, s, row->id));
		}
		if (sum > MOST) {
			translate_refuse(t, s->line, "", "the options and arguments of all steps together take more than %d MiB",
					 MOST >> 20);
			return false;
		}
	}
	return true;
}

void translate_size_steps(struct translation *t)
{
	if (!size_check_weight(t))
		return;
	for (int i = 0; i < t->step_count; i++)
		size_read(t, &t->steps[i]);
	size_share_nodes(t);
	for (int i = 0; i < t->step_count; i++) {
		size_place_tasks(t, &t->steps[i]);
		size_check_times(t, &t->steps[i]);
		size_check_eternal(t, &t->steps[i]);
		translate_checkpoint_check(t, &t->steps[i]);
		size_check_lists(t, &t->steps[i]);
		size_check_gpus(t, &t->steps[i]);
		translate_choose_rival(t, &t->steps[i], OPTION_ID_MEM, OPTION_ID_MEM_PER_CPU);
	}
	size_check_corr(t);
	size_number_steps(t);
}
