/* translate_fit_same.c - refuses steps on the same nodes (--same-nodes) whose requests together leave no nodes for them.
 *
 * Called by: translate_fit(), after each step was found to fit alone.
 * Invariants:
 * - A refused step can never run: the nodes must meet the request of each of the steps, whether these run at the same time or
 *   not. Steps that also start together (--with) need the sum of their resources.
 * - If --nodelist names more nodes than are needed, the scheduler may choose any of them, so the step is not refused. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/translate_parts.h"
#include "lib/err.h"
#include "lib/text.h"

struct same {
	struct translation *t;
	const int *partitions;
	int *next; /* index of the next step on the same nodes; -1: this step is the last one */
};

static const struct translate_edge *same_find_edge(const struct translation *t, int step)
{
	const struct translate_step *s = &t->steps[step];
	for (int i = s->first_edge; i < s->first_edge + s->edge_count; i++)
		if (t->edges[i].kind == TRANSLATE_SAME_NODES && t->edges[i].peer >= 0)
			return &t->edges[i];
	return NULL;
}

/* Returns the edge whose line the refusal gives: --same-nodes of the step or, if it has none, of the first step on its nodes
 * that has. */
static const struct translate_edge *same_choose_edge(const struct same *same, int step)
{
	const struct translate_edge *edge = same_find_edge(same->t, step);
	for (int i = same->t->steps[step].same; !edge; i = same->next[i])
		edge = same_find_edge(same->t, i);
	return edge;
}

static void same_refuse_nodes(const struct same *same, int step, int64_t left, const char *options)
{
	const struct translate_edge *edge = same_choose_edge(same, step);
	int64_t needed = same->t->steps[step].nodes_min;
	translate_refuse(same->t, edge->line, "--same-nodes",
			 "the step needs %" PRId64 " node%s (--same-nodes=%s); by %s of the steps on the same nodes, %" PRId64
			 " %s left",
			 needed, text_plural(needed), same->t->steps[edge->peer].name, options, left, left == 1 ? "is" : "are");
}

static void same_join(struct same *same)
{
	int *last = xcalloc((size_t)same->t->step_count, sizeof *last);
	for (int i = 0; i < same->t->step_count; i++) {
		int root = same->t->steps[i].same;
		same->next[i] = -1;
		if (root != i)
			same->next[last[root]] = i;
		last[root] = i;
	}
	free(last);
}

/* Remove from the list nodes that --nodelist of a step does not name. *list NULL: make the list of the named nodes. */
static void list_keep(json_t **list, const json_t *nodelist)
{
	const json_t *host;
	json_t *kept = json_object();
	size_t i;
	json_array_foreach ((json_t *)nodelist, i, host)
		if (!*list || json_object_get(*list, json_string_value(host)))
			json_object_set_new(kept, json_string_value(host), json_true());
	json_decref(*list);
	*list = kept;
}

static void list_drop(json_t *list, const json_t *excluded)
{
	const json_t *host;
	size_t i;
	json_array_foreach ((json_t *)excluded, i, host)
		json_object_del(list, json_string_value(host));
}

/* Fill `lists` with the nodes that --nodelist and --exclude leave to all steps on the same nodes. Returns false after a
 * refusal. */
static bool same_make_lists(const struct same *same, const bool *bound, json_t **lists)
{
	struct translation *t = same->t;
	for (int i = 0; i < t->step_count; i++) {
		json_t **list = &lists[t->steps[i].same], *nodelist = translate_value(t, &t->steps[i], OPTION_ID_NODELIST);
		if (!bound[t->steps[i].same] || !json_array_size(nodelist))
			continue;
		list_keep(list, nodelist);
		if ((int64_t)json_object_size(*list) < t->steps[i].nodes_min) {
			same_refuse_nodes(same, i, (int64_t)json_object_size(*list), "--nodelist");
			return false;
		}
	}
	for (int i = 0; i < t->step_count; i++) {
		json_t *list = lists[t->steps[i].same];
		if (!list)
			continue;
		list_drop(list, translate_value(t, &t->steps[i], OPTION_ID_EXCLUDE));
		if ((int64_t)json_object_size(list) < t->steps[i].nodes_min) {
			same_refuse_nodes(same, i, (int64_t)json_object_size(list), "--nodelist and --exclude");
			return false;
		}
	}
	return true;
}

static const char *same_constraint(const struct translation *t, int step)
{
	const char *expression = json_string_value(translate_value(t, &t->steps[step], OPTION_ID_CONSTRAINT));
	return expression && *expression ? expression : NULL;
}

/* Do the features of a node meet --constraint of all steps on the nodes of `first`? */
static bool same_are_met(const struct same *same, int first, const json_t *features)
{
	for (int i = first; i >= 0; i = same->next[i]) {
		const char *expression = same_constraint(same->t, i);
		if (expression && !translate_feature_met(expression, features))
			return false;
	}
	return true;
}

/* Check that enough nodes meet the --constraint of all steps on the nodes of `first`. Returns false after a refusal. */
static bool same_check_features(const struct same *same, int first)
{
	const struct translate_partition *partition = &same->t->limits->partitions[same->partitions[first]];
	const json_t *some;
	int64_t nodes = 0;
	int asks = -1;
	size_t k;
	for (int i = first; i >= 0; i = same->next[i])
		asks = same_constraint(same->t, i) ? i : asks;
	if (asks < 0 || !partition->features)
		return true;
	json_array_foreach ((json_t *)partition->features, k, some)
		if (same_are_met(same, first, json_object_get(some, "features")))
			nodes += json_integer_value(json_object_get(some, "nodes"));
	if (nodes >= same->t->steps[first].nodes_min)
		return true;
	same_refuse_nodes(same, asks, nodes, "--constraint");
	return false;
}

/* Resources that steps of one gang on the same nodes need together. */
struct need {
	int gang;
	int64_t count;	      /* number of these steps, each element of an array counted as one */
	int64_t nodes;	      /* most nodes that the steps can share: each node has a task of each step */
	int64_t total, cpus;  /* CPUs on all nodes together, and fewest CPUs on each node */
	int64_t mem_mb, gpus; /* fewest MiB and GPUs on each node */
	int64_t most_cpus, most_mem_mb, most_gpus;
	bool exclusive;
};

static int64_t need_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void need_add(struct need *n, const struct same *same, int step)
{
	struct translation *t = same->t;
	const struct translate_step *s = &t->steps[step];
	const struct translate_partition *p = &t->limits->partitions[same->partitions[step]];
	int64_t elements = s->elements && same_find_edge(t, step) ? s->elements : 1;
	if (n->count == 0 || n->gang != s->with)
		*n = (struct need){.gang = s->with,
				   .nodes = s->ntasks,
				   .most_cpus = p->node_cpus,
				   .most_mem_mb = p->node_mem_mb,
				   .most_gpus = INT64_MAX};
	n->count += elements;
	n->nodes = need_least(n->nodes, need_least(s->ntasks, s->nodes_max ? s->nodes_max : p->nodes));
	n->total += s->ntasks * s->cpus_per_task * elements;
	n->cpus += s->cpus_per_task * elements;
	n->mem_mb += translate_memory(t, s, 1) * elements;
	n->gpus += translate_gpus(t, s) * elements;
	n->most_cpus = need_least(n->most_cpus, p->node_cpus);
	n->most_mem_mb = need_least(n->most_mem_mb, p->node_mem_mb);
	n->most_gpus = need_least(n->most_gpus, json_integer_value(json_object_get(p->node_gres, "gpu")));
	n->exclusive |= json_is_true(translate_value(t, s, OPTION_ID_EXCLUSIVE));
}

static bool need_check(const struct need *n, const struct same *same, int step)
{
	const struct translate_edge *edge = same_choose_edge(same, step);
	int64_t spread = (n->total + n->nodes - 1) / n->nodes, cpus = spread > n->cpus ? spread : n->cpus;
	const struct {
		int64_t needed, most;
		const char *what;
	} kinds[] = {{cpus, n->most_cpus, "CPUs"}, {n->mem_mb, n->most_mem_mb, "MiB"}, {n->gpus, n->most_gpus, "GPUs"}};
	const char *peer = same->t->steps[edge->peer].name;
	if (n->exclusive) {
		translate_refuse(
			same->t, edge->line, "--same-nodes",
			"the step starts together with others on its nodes (--same-nodes=%s), but --exclusive keeps others off",
			peer);
		return false;
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (kinds[i].needed <= kinds[i].most)
			continue;
		translate_refuse(same->t, edge->line, "--same-nodes",
				 "steps that start together on the same nodes (--same-nodes=%s) need %" PRId64
				 " %s on a node; partition \"%s\" has at most %" PRId64,
				 peer, kinds[i].needed, kinds[i].what, same->t->limits->partitions[same->partitions[step]].name,
				 kinds[i].most);
		return false;
	}
	return true;
}

/* Check the resources that the steps of a gang need on nodes that they share. Returns false after a refusal. */
static bool same_check_gang(const struct same *same, int first, struct need *needs)
{
	for (int i = first; i >= 0; i = same->t->steps[i].next_with) {
		struct need *n = &needs[same->t->steps[i].same];
		need_add(n, same, i);
		if (n->count > 1 && !need_check(n, same, i))
			return false;
	}
	return true;
}

static void same_check(const struct same *same, const bool *bound, json_t **lists)
{
	struct translation *t = same->t;
	struct need *needs = xcalloc((size_t)t->step_count, sizeof *needs);
	bool fits = same_make_lists(same, bound, lists);
	for (int i = 0; fits && i < t->step_count; i++) {
		if (t->steps[i].same == i && same->next[i] >= 0)
			fits = same_check_features(same, i);
		if (fits && t->steps[i].with == i && t->steps[i].next_with >= 0)
			fits = same_check_gang(same, i, needs);
	}
	free(needs);
}

json_t **translate_fit_same(struct translation *t, const int *partitions)
{
	json_t **lists = xcalloc((size_t)t->step_count, sizeof(json_t *));
	bool *bound = xcalloc((size_t)t->step_count, sizeof *bound);
	struct same same = {t, partitions, xcalloc((size_t)t->step_count, sizeof(int))};
	same_join(&same);
	for (int i = 0; i < t->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[i];
		if (edge->peer >= 0 && (edge->kind == TRANSLATE_SAME_NODES || edge->kind == TRANSLATE_OTHER_NODES))
			bound[t->steps[edge->step].same] = bound[t->steps[edge->peer].same] = true;
	}
	same_check(&same, bound, lists);
	free(same.next);
	free(bound);
	return lists;
}
