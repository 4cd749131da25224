/* translate_fit_others.c - refuses steps that exclude each other's nodes (--other-nodes) if together they need more nodes than
 * the partition, their lists of nodes or their features leave.
 *
 * Called by: translate_fit(), after each step was found to fit alone.
 * Invariants:
 * - A refused step can never run: steps that exclude each other need the sum of their nodes, at the same time or not.
 * - An edge to a step that may be skipped does not count: a step that never had nodes keeps no other step off them.
 * - The search for a set of such steps (a clique) is greedy, so it may miss one that is to be refused.
 * - Steps on the same nodes (--same-nodes) are one vertex of the graph. Steps of other partitions are vertices only if lists of
 *   nodes are compared: a node has one name in all partitions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/translate_parts.h"
#include "lib/err.h"
#include "lib/text.h"

enum { CLIQUE_MOST = 64 };

struct others {
	struct translation *t;
	const int *partitions;
	bool *excludes;	      /* of each edge: does it keep the step off nodes, whenever the step runs? */
	json_t *const *lists; /* as translate_fit_same() returns them */
	/* restrictions that all members of the clique share beside the partition; both NULL: none */
	const json_t *list;	/* nodes that all of them are bound to */
	const char *expression; /* their --constraint */
	int64_t nodes;		/* number of nodes that they share */
	int members[CLIQUE_MOST];
	int count;
};

static bool others_names(const struct others *o, int step, int other)
{
	const struct translate_step *s = &o->t->steps[step];
	for (int i = s->first_edge; i < s->first_edge + s->edge_count; i++)
		if (o->excludes[i] && o->t->steps[o->t->edges[i].peer].same == o->t->steps[other].same)
			return true;
	return false;
}

static bool others_are_apart(const struct others *o, int a, int b)
{
	return others_names(o, a, b) || others_names(o, b, a);
}

static const char *others_find_expression(const struct translation *t, int step)
{
	return json_string_value(translate_value(t, &t->steps[step], OPTION_ID_CONSTRAINT));
}

/* Is a step bound to the nodes, or limited to the partition and --constraint, that the members of the clique share? */
static bool clique_shares_nodes(const struct others *o, int step)
{
	json_t *list = o->lists[o->t->steps[step].same], *unused;
	const char *host, *expression = o->expression ? others_find_expression(o->t, step) : NULL;
	if (!o->list)
		return o->partitions[step] == o->partitions[o->members[0]] &&
		       (!o->expression || (expression && strcmp(expression, o->expression) == 0));
	if (!list || json_object_size(list) > json_object_size(o->list))
		return false;
	json_object_foreach (list, host, unused)
		if (!json_object_get(o->list, host))
			return false;
	return true;
}

/* Add a step to the clique if the step and all members exclude each other's nodes. */
static void clique_add(struct others *o, int step)
{
	if (o->count == CLIQUE_MOST)
		return;
	for (int i = 0; i < o->count; i++)
		if (o->members[i] == step || !others_are_apart(o, o->members[i], step))
			return;
	if (clique_shares_nodes(o, step))
		o->members[o->count++] = step;
}

static int64_t clique_nodes(const struct others *o)
{
	int64_t nodes = 0;
	for (int i = 0; i < o->count; i++)
		nodes += o->t->steps[o->members[i]].nodes_min;
	return nodes;
}

/* Returns the member of the clique that names most other members in --other-nodes; of equal ones, the last in the script. The
 * refusal gives its line. */
static int clique_speaker(const struct others *o)
{
	int speaker = o->members[0], most = -1;
	for (int i = 0; i < o->count; i++) {
		int named = 0;
		for (int k = 0; k < o->count; k++)
			named += k != i && others_names(o, o->members[i], o->members[k]);
		if (named > most || (named == most && o->members[i] > speaker)) {
			speaker = o->members[i];
			most = named;
		}
	}
	return speaker;
}

static int others_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Returns the names of the clique's members except `but`, in the order of the script, as "a,b"; malloc'ed. */
static char *clique_names(struct others *o, int but)
{
	char *text = xstrdup("");
	qsort(o->members, (size_t)o->count, sizeof *o->members, others_compare);
	for (int i = 0; i < o->count; i++) {
		if (o->members[i] == but)
			continue;
		char *more = xasprintf("%s%s%s", text, *text ? "," : "", o->t->steps[o->members[i]].name);
		free(text);
		text = more;
	}
	return text;
}

static void clique_refuse(struct others *o)
{
	static const char *const ordinals[] = {"second",  "third",  "fourth", "fifth", "sixth",
					       "seventh", "eighth", "ninth",  "tenth"};
	int speaker = clique_speaker(o);
	const struct translate_step *s = &o->t->steps[speaker];
	char *others = clique_names(o, speaker);
	const char *limit = o->list	    ? "their --nodelist leaves"
			    : o->expression ? "their --constraint leaves"
					    : "the partition has";
	int64_t beside = clique_nodes(o) - s->nodes_min;
	int line = s->line;
	for (int i = s->first_edge; i < s->first_edge + s->edge_count; i++)
		if (o->excludes[i])
			line = o->t->edges[i].line;
	if (clique_nodes(o) == o->count && o->nodes >= 1 && (size_t)o->nodes <= sizeof ordinals / sizeof *ordinals)
		translate_refuse(o->t, line, "--other-nodes", "the step needs a %s node (--other-nodes=%s); %s %" PRId64,
				 ordinals[o->nodes - 1], others, limit, o->nodes);
	else
		translate_refuse(o->t, line, "--other-nodes",
				 "the step needs %" PRId64 " node%s beside %" PRId64 " other%s (--other-nodes=%s); %s %" PRId64,
				 s->nodes_min, text_plural(s->nodes_min), beside, text_plural(beside), others, limit, o->nodes);
	free(others);
}

/* Grow a clique from a step, over the steps that it names in --other-nodes and the steps that name it. Returns true if the
 * clique needs too many nodes and was refused. */
static bool clique_grow(struct others *o, int first)
{
	struct translation *t = o->t;
	o->members[0] = first;
	o->count = 1;
	for (int i = 0; i < t->edge_count && clique_nodes(o) <= o->nodes; i++)
		if (o->excludes[i])
			clique_add(o, t->edges[i].peer);
	for (int i = 0; i < t->step_count && clique_nodes(o) <= o->nodes; i++)
		if (t->steps[i].edge_count)
			clique_add(o, i);
	if (clique_nodes(o) <= o->nodes)
		return false;
	clique_refuse(o);
	return true;
}

/* Grow cliques from a step three times: in its partition, in its list of nodes, and on nodes that meet its --constraint.
 * Returns true if one was refused. */
static bool others_try(struct others *o, int first)
{
	const struct translate_partition *partition = &o->t->limits->partitions[o->partitions[first]];
	o->list = NULL;
	o->expression = NULL;
	o->nodes = partition->nodes;
	if (clique_grow(o, first))
		return true;
	o->expression = others_find_expression(o->t, first);
	if (o->expression && *o->expression && partition->features) {
		o->nodes = translate_feature_nodes(partition, o->expression);
		if (clique_grow(o, first))
			return true;
	}
	o->list = o->lists[o->t->steps[first].same];
	o->nodes = (int64_t)json_object_size(o->list);
	return o->list && clique_grow(o, first);
}

void translate_fit_others(struct translation *t, const int *partitions, json_t *const *lists)
{
	struct others o = {.t = t, .partitions = partitions, .lists = lists};
	bool *bound = xcalloc((size_t)t->step_count, sizeof *bound);
	int tried = 0;
	o.excludes = xcalloc((size_t)t->edge_count, sizeof *o.excludes);
	for (int i = 0; i < t->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[i];
		o.excludes[i] =
			edge->kind == TRANSLATE_OTHER_NODES && edge->peer >= 0 && translate_fit_runs(t, edge->step, edge->peer);
		if (o.excludes[i])
			bound[edge->step] = bound[edge->peer] = true;
	}
	for (int i = 0; i < t->step_count && tried < CLIQUE_MOST; i++) {
		if (!bound[i])
			continue;
		tried++;
		if (others_try(&o, i))
			break;
	}
	free(o.excludes);
	free(bound);
}
