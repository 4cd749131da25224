/* translate_fit_runs.c - finds out whether one step certainly has or had nodes whenever another step runs. If not,
 * --other-nodes may not keep the other step off any node.
 *
 * Called by: translate_fit_others.c.
 * Invariants:
 * - The answer true is certain, unless the step is cancelled. The answer false may be wrong: the search is bounded. */
#include <string.h>

#include "jobmgr/translate/translate_parts.h"

enum { GANGS_MOST = 32, EDGES_MOST = 256, CONDITIONS_MOST = 16 };

/* Gangs that have certainly started when a given step runs, and the edges whose conditions are then met. */
struct runs {
	const struct translation *t;
	int gangs[GANGS_MOST], gang_count;
	const struct translate_edge *met[EDGES_MOST];
	int met_count;
};

/* Can --if-changed or --deadline end a step of the gang before it gets nodes? */
static bool runs_may_end(const struct translation *t, int gang)
{
	for (int i = gang; i >= 0; i = t->steps[i].next_with)
		if (translate_value(t, &t->steps[i], OPTION_ID_IF_CHANGED) ||
		    translate_number(t, &t->steps[i], OPTION_ID_DEADLINE, 0))
			return true;
	return false;
}

static bool runs_has_gang(const struct runs *r, int gang)
{
	for (int i = 0; i < r->gang_count; i++)
		if (r->gangs[i] == gang)
			return true;
	return false;
}

/* Can this edge keep its step from ever running, by the way in which its peer ends? */
static bool runs_is_condition(const struct translate_edge *edge)
{
	bool any = edge->condition == TRANSLATE_ANY || edge->condition == TRANSLATE_TEARDOWN ||
		   edge->condition == TRANSLATE_SINGLETON;
	return edge->kind == TRANSLATE_SAME_NODES || (edge->kind == TRANSLATE_AFTER && !any);
}

/* Does it follow that the peer had nodes, if the condition of this edge is met? */
static bool runs_proves_peer(const struct translation *t, const struct translate_edge *edge)
{
	if (edge->peer < 0 || edge->condition == TRANSLATE_FAIL)
		return false;
	return edge->kind == TRANSLATE_SAME_NODES || !runs_may_end(t, t->steps[edge->peer].with);
}

static void runs_add_edge(struct runs *r, const struct translate_edge *edge)
{
	bool one_of_many = edge->kind == TRANSLATE_AFTER && r->t->steps[edge->step].deps_any;
	if (r->met_count == EDGES_MOST || one_of_many || !runs_is_condition(edge))
		return;
	r->met[r->met_count++] = edge;
	if (r->gang_count < GANGS_MOST && runs_proves_peer(r->t, edge) && !runs_has_gang(r, r->t->steps[edge->peer].with))
		r->gangs[r->gang_count++] = r->t->steps[edge->peer].with;
}

static void runs_collect(struct runs *r, int step)
{
	const struct translation *t = r->t;
	r->gangs[r->gang_count++] = t->steps[step].with;
	for (int k = 0; k < r->gang_count; k++)
		for (int i = r->gangs[k]; i >= 0; i = t->steps[i].next_with)
			for (int e = t->steps[i].first_edge; e < t->steps[i].first_edge + t->steps[i].edge_count; e++)
				runs_add_edge(r, &t->edges[e]);
}

static bool runs_are_alike(const struct translate_edge *a, const struct translate_edge *b)
{
	bool named = a->peer_name && b->peer_name;
	return a->kind == b->kind && a->condition == b->condition && a->peer == b->peer && a->peer_job == b->peer_job &&
	       (named ? strcmp(a->peer_name, b->peer_name) == 0 : a->peer_name == b->peer_name);
}

/* Is the condition of an edge of another step certainly met, now or later? */
static bool runs_is_met(const struct runs *r, const struct translate_edge *edge)
{
	bool starts = edge->kind == TRANSLATE_SAME_NODES || edge->condition == TRANSLATE_START;
	if (starts && edge->peer >= 0 && runs_has_gang(r, r->t->steps[edge->peer].with))
		return true;
	for (int i = 0; i < r->met_count; i++)
		if (runs_are_alike(r->met[i], edge))
			return true;
	return false;
}

bool translate_fit_runs(const struct translation *t, int step, int peer)
{
	struct runs r = {.t = t};
	int gang = t->steps[peer].with, conditions = 0;
	runs_collect(&r, step);
	if (runs_has_gang(&r, gang))
		return true;
	if (runs_may_end(t, gang))
		return false;
	for (int i = gang; i >= 0; i = t->steps[i].next_with)
		for (int e = t->steps[i].first_edge; e < t->steps[i].first_edge + t->steps[i].edge_count; e++)
			if (runs_is_condition(&t->edges[e]) && (++conditions > CONDITIONS_MOST || !runs_is_met(&r, &t->edges[e])))
				return false;
	return true;
}
