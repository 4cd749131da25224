/* translate_fit.c - refuses a step that its partition could not run even with all nodes free.
 *
 * Called by: translate.c and translate_modify.c, after the sizes of steps are known, if there is no problem and the partitions
 * are known. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/nearest.h"
#include "lib/text.h"

struct fit {
	struct translation *t;
	const struct translate_step *s;
	const struct translate_partition *partition;
};

static int fit_find_partition(const struct translation *t, const char *name)
{
	for (int i = 0; i < t->limits->partition_count; i++)
		if (name ? strcmp(t->limits->partitions[i].name, name) == 0 : t->limits->partitions[i].is_default)
			return i;
	return -1;
}

/* Returns the index of a step's partition in the limits, or -1 after a refusal. */
static int fit_choose_partition(struct translation *t, const struct translate_step *s)
{
	const char *name = json_string_value(translate_value(t, s, OPTION_ID_PARTITION));
	int line = translate_find_line(t, s, OPTION_ID_PARTITION), found = fit_find_partition(t, name);
	struct nearest nearest = NEAREST(name ? name : "");
	if (found >= 0)
		return found;
	for (int i = 0; i < t->limits->partition_count; i++)
		nearest_try(&nearest, t->limits->partitions[i].name);
	if (name)
		translate_refuse(t, line, "--partition", "unknown partition \"%s\"", name);
	else
		translate_refuse(t, line, "--partition", "no partition is named, and there is no default; name a partition");
	if (nearest.best)
		translate_hint(t, "did you mean \"%s\"?", nearest.best);
	else
		translate_hint(t, "`rota partitions` lists the partitions");
	return -1;
}

/* Returns the plural ending of a resource; those of generic resources and units have none. */
static const char *fit_plural(const char *what, int64_t count)
{
	static const char *const nouns[] = {"second", "node", "CPU"};
	for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
		if (strcmp(what, nouns[i]) == 0)
			return text_plural(count);
	return "";
}

/* Refuse an option that requests more than `most` of the resource `what`, in the singular. Returns false if it was refused. */
static bool fit_check_most(struct fit *f, enum option_id id, int64_t asked, int64_t most, const char *what, const char *where)
{
	char option[64] = "--";
	if (asked <= most)
		return true;
	translate_refuse(f->t, translate_find_line(f->t, f->s, id), strcat(option, option_row(id)->name),
			 "%" PRId64 " %s%s%s requested, but partition \"%s\" has at most %" PRId64, asked, what,
			 fit_plural(what, asked), where, f->partition->name, most);
	return false;
}

static void fit_check_time(struct fit *f)
{
	int64_t most = f->partition->max_time_s, limit = translate_number(f->t, f->s, OPTION_ID_TIME, -1);
	if (most > 0 && limit == 0)
		translate_refuse(f->t, translate_find_line(f->t, f->s, OPTION_ID_TIME), "--time",
				 "no time limit requested, but partition \"%s\" has a time limit of %" PRId64 " second%s",
				 f->partition->name, most, text_plural(most));
	else if (most > 0)
		fit_check_most(f, OPTION_ID_TIME, limit, most, "second", "");
}

static void fit_check_gres(struct fit *f)
{
	const char *name;
	const json_t *count;
	json_object_foreach ((json_t *)translate_value(f->t, f->s, OPTION_ID_GRES), name, count) {
		if (strcmp(name, "gpu") == 0 && translate_choose_rival(f->t, f->s, OPTION_ID_GPUS, OPTION_ID_GPUS_PER_NODE) >= 0)
			continue;
		if (!fit_check_most(f, OPTION_ID_GRES, json_integer_value(count),
				    json_integer_value(json_object_get(f->partition->node_gres, name)), name, " on a node"))
			return;
	}
	bool total = translate_choose_rival(f->t, f->s, OPTION_ID_GPUS, OPTION_ID_GPUS_PER_NODE) == OPTION_ID_GPUS;
	int64_t gpus = translate_gpus(f->t, f->s), most = json_integer_value(json_object_get(f->partition->node_gres, "gpu"));
	if (!fit_check_most(f, total ? OPTION_ID_GPUS : OPTION_ID_GPUS_PER_NODE, gpus, most, "gpu", " on a node") && total &&
	    most > 0)
		translate_hint(f->t, "with --nodes, the GPUs are spread over several nodes");
}

/* Returns the most tasks of a step with --ntasks-per-node on one node. */
static int64_t fit_tasks_on_node(const struct translate_step *s)
{
	return s->ntasks_per_node < s->ntasks ? s->ntasks_per_node : s->ntasks;
}

static void fit_check_memory(struct fit *f)
{
	int which = translate_choose_rival(f->t, f->s, OPTION_ID_MEM, OPTION_ID_MEM_PER_CPU);
	int64_t tasks = f->s->ntasks_per_node ? fit_tasks_on_node(f->s) : 1;
	if (which >= 0)
		fit_check_most(f, (enum option_id)which, translate_memory(f->t, f->s, tasks), f->partition->node_mem_mb, "MiB",
			       " on a node");
}

/* Check the nodes, tasks and CPUs of a step against the limits of its partition. */
static void fit_check_cpus(struct fit *f)
{
	const struct translate_step *s = f->s;
	int64_t nodes = f->partition->nodes, node_cpus = f->partition->node_cpus;
	if (f->partition->max_nodes && f->partition->max_nodes < nodes)
		nodes = f->partition->max_nodes;
	if (!fit_check_most(f, OPTION_ID_NODES, s->nodes_min, nodes, "node", "") ||
	    !fit_check_most(f, OPTION_ID_CPUS_PER_TASK, s->cpus_per_task, node_cpus, "CPU", " for a task") ||
	    (s->ntasks_per_node && !fit_check_most(f, OPTION_ID_NTASKS_PER_NODE, fit_tasks_on_node(s) * s->cpus_per_task,
						   node_cpus, "CPU", " on a node")) ||
	    !fit_check_most(f, OPTION_ID_NTASKS, s->ntasks * s->cpus_per_task, f->partition->cpus, "CPU", ""))
		return;
	if (s->nodes_max && s->nodes_max < nodes)
		nodes = s->nodes_max;
	int64_t on_a_node = node_cpus / s->cpus_per_task;
	if (s->ntasks_per_node && s->ntasks_per_node < on_a_node)
		on_a_node = s->ntasks_per_node;
	if (s->ntasks > on_a_node * nodes)
		translate_refuse(f->t, translate_find_line(f->t, s, OPTION_ID_NTASKS), "--ntasks",
				 "%" PRId64 " tasks do not fit on %" PRId64 " node%s of partition \"%s\", which %s %" PRId64 "%s",
				 s->ntasks, nodes, text_plural(nodes), f->partition->name, nodes == 1 ? "holds" : "hold",
				 on_a_node, nodes == 1 ? "" : " each");
}

/* Check that enough nodes of the partition meet the --constraint of a step. */
static void fit_check_features(struct fit *f)
{
	const char *expression = json_string_value(translate_value(f->t, f->s, OPTION_ID_CONSTRAINT));
	if (!expression || !*expression || !f->partition->features)
		return;
	int64_t nodes = translate_feature_nodes(f->partition, expression);
	if (nodes < f->s->nodes_min)
		translate_refuse(f->t, translate_find_line(f->t, f->s, OPTION_ID_CONSTRAINT), "--constraint",
				 "\"%s\" is met by %" PRId64 " node%s of partition \"%s\", but %" PRId64 " %s requested",
				 expression, nodes, text_plural(nodes), f->partition->name, f->s->nodes_min,
				 f->s->nodes_min == 1 ? "is" : "are");
}

/* Check the nodes and CPUs that the steps of a gang need together in each partition. */
static void fit_check_set(struct translation *t, int first, const int *partitions)
{
	struct need {
		int64_t cpus, exclusive, shared;
	} *need = xcalloc((size_t)t->limits->partition_count, sizeof *need);
	for (int i = first; i >= 0; i = t->steps[i].next_with) {
		const struct translate_step *s = &t->steps[i];
		int64_t elements = s->elements ? s->elements : 1;
		struct need *n = &need[partitions[i]];
		bool exclusive = json_is_true(translate_value(t, s, OPTION_ID_EXCLUSIVE));
		n->cpus += s->ntasks * s->cpus_per_task * elements;
		n->exclusive += exclusive ? s->nodes_min * elements : 0;
		if (!exclusive && s->nodes_min > n->shared)
			n->shared = s->nodes_min;
		const struct translate_partition *partition = &t->limits->partitions[partitions[i]];
		if (n->cpus > partition->cpus) {
			translate_refuse(t, s->line, "--with",
					 "steps that start together need more than the %" PRId64 " CPU%s of partition \"%s\"",
					 partition->cpus, text_plural(partition->cpus), partition->name);
			break;
		}
		if (n->exclusive + n->shared > partition->nodes) {
			translate_refuse(t, s->line, "--with",
					 "steps that start together need more than the %d node%s of partition \"%s\"",
					 partition->nodes, text_plural(partition->nodes), partition->name);
			break;
		}
	}
	free(need);
}

/* Check the steps with --same-nodes or --other-nodes. */
static void fit_check_nodes(struct translation *t, const int *partitions)
{
	int before = t->problems->count + t->problems->more;
	json_t **lists = translate_fit_same(t, partitions);
	if (t->problems->count + t->problems->more == before)
		translate_fit_others(t, partitions, lists);
	for (int i = 0; i < t->step_count; i++)
		json_decref(lists[i]);
	free(lists);
}

void translate_fit(struct translation *t)
{
	if (!t->limits->know_partitions)
		return;
	int *partitions = xcalloc((size_t)t->step_count, sizeof *partitions);
	int before = t->problems->count + t->problems->more;
	for (int i = 0; i < t->step_count; i++) {
		partitions[i] = fit_choose_partition(t, &t->steps[i]);
		if (partitions[i] < 0)
			continue;
		struct fit f = {t, &t->steps[i], &t->limits->partitions[partitions[i]]};
		fit_check_cpus(&f);
		fit_check_memory(&f);
		fit_check_gres(&f);
		fit_check_features(&f);
		fit_check_time(&f);
	}
	for (int i = 0; t->problems->count + t->problems->more == before && i < t->step_count; i++)
		if (t->steps[i].with == i && t->steps[i].next_with >= 0)
			fit_check_set(t, i, partitions);
	if (t->problems->count + t->problems->more == before && t->edge_count > 0)
		fit_check_nodes(t, partitions);
	free(partitions);
}
