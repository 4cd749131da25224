/* translate_graph.c - the graph of steps: finds gangs, sets of steps on the same nodes, a topological order, and cycles.
 *
 * Called by: translate.c after the edges are known. Steps bound by --with are one vertex. A vertex waits for another by --after,
 * and by --same-nodes or --other-nodes, which need the nodes of the other step. One depth-first search without recursion finds
 * order and cycles.
 * Invariants:
 * - The work is linear in steps and edges.
 * - If there is no problem, a vertex has a higher `topo` than each vertex that it waits for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/translate_parts.h"

enum { CYCLES_MOST = 5, CYCLE_WIDTH = 360 };

/* Returns the root of a step's set. Disjoint sets of steps are trees of parents; the root is the lowest index of its set. */
static int graph_find_root(int *parents, int i)
{
	while (parents[i] != i)
		i = parents[i] = parents[parents[i]];
	return i;
}

static void graph_unite(int *parents, int a, int b)
{
	a = graph_find_root(parents, a);
	b = graph_find_root(parents, b);
	parents[a > b ? a : b] = a < b ? a : b;
}

static void graph_make_sets(struct translation *t)
{
	int *with = xcalloc((size_t)t->step_count, sizeof *with), *same = xcalloc((size_t)t->step_count, sizeof *same);
	int *last = xcalloc((size_t)t->step_count, sizeof *last);
	for (int i = 0; i < t->step_count; i++)
		with[i] = same[i] = i;
	for (int i = 0; i < t->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[i];
		if (edge->peer >= 0 && edge->kind == TRANSLATE_WITH)
			graph_unite(with, edge->step, edge->peer);
		if (edge->peer >= 0 && edge->kind == TRANSLATE_SAME_NODES)
			graph_unite(same, edge->step, edge->peer);
	}
	for (int i = 0; i < t->step_count; i++) {
		struct translate_step *s = &t->steps[i];
		s->with = graph_find_root(with, i);
		s->same = graph_find_root(same, i);
		s->next_with = -1;
		if (s->with != i)
			t->steps[last[s->with]].next_with = i;
		last[s->with] = i;
	}
	free(with);
	free(same);
	free(last);
}

/* Refuse --other-nodes between steps that have the same nodes. */
static void graph_check_nodes(struct translation *t)
{
	for (int i = 0; i < t->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[i];
		if (edge->kind == TRANSLATE_OTHER_NODES && edge->peer >= 0 &&
		    t->steps[edge->step].same == t->steps[edge->peer].same)
			translate_refuse(t, edge->line, "--other-nodes", "\"%s\" is bound to the nodes of \"%s\" by --same-nodes",
					 t->steps[edge->step].name, t->steps[edge->peer].name);
	}
}

/* A vertex on the path of the search: the current step of its gang, and the current edge. */
struct frame {
	int member, edge; /* indices of the current member of the vertex, and of its current edge in t->edges */
};

struct search {
	struct translation *t;
	struct frame *path;
	int depth;
	char *state; /* state of each vertex, by index of its root: 0 not seen, 1 on the path, 2 done */
	int topo, cycles;
};

static void search_enter(struct search *s, int set)
{
	s->state[set] = 1;
	s->path[s->depth++] = (struct frame){set, s->t->steps[set].first_edge};
}

static bool graph_is_order(const struct translation *t, const struct translate_edge *edge)
{
	if (edge->peer < 0 || edge->kind == TRANSLATE_WITH)
		return false;
	return edge->kind == TRANSLATE_AFTER || t->steps[edge->step].with != t->steps[edge->peer].with;
}

/* Returns the next edge, from the current one on, by which the top vertex of the path waits for another, or NULL if there is
 * none. */
static const struct translate_edge *search_next_edge(struct search *s)
{
	struct translation *t = s->t;
	struct frame *top = &s->path[s->depth - 1];
	for (;;) {
		const struct translate_step *step = &t->steps[top->member];
		for (; top->edge < step->first_edge + step->edge_count; top->edge++)
			if (graph_is_order(t, &t->edges[top->edge]))
				return &t->edges[top->edge];
		if (step->next_with < 0)
			return NULL;
		top->member = step->next_with;
		top->edge = t->steps[top->member].first_edge;
	}
}

/* Print the path from frame `first` on: each step and the peer that it waits for; "=" joins a peer with the step of its gang that
 * waits next. The middle of a long path is left out. */
static void search_print_cycle(const struct search *s, int first, char *text, size_t size)
{
	const struct translation *t = s->t;
	size_t used = 0;
	bool cut = false;
	const char *begin = t->steps[t->edges[s->path[first].edge].step].name, *end = begin;
	for (int i = first; i < s->depth; i++) {
		const struct translate_edge *edge = &t->edges[s->path[i].edge];
		const char *from = t->steps[edge->step].name, *to = t->steps[edge->peer].name;
		if (i > first && used > CYCLE_WIDTH / 2 && i < s->depth - 1) {
			used += cut ? 0 : (size_t)snprintf(text + used, size - used, " -> ...");
			cut = true;
			end = to;
			continue;
		}
		bool joined = i > first && end != from && !cut;
		used += (size_t)snprintf(text + used, size - used, "%s%s -> %s",
					 i == first ? ""
					 : joined   ? " = "
						    : "",
					 i == first || joined ? from : "", to);
		end = to;
	}
	if (end != begin)
		snprintf(text + used, size - used, " = %s", begin);
}

/* Returns the edge of a cycle whose line the refusal gives. Its option must be in the script; edges of a plain sequence have
 * none. */
static const struct translate_edge *search_find_cause(const struct search *s, int first, const struct translate_edge *closing)
{
	for (int i = s->depth - 1; s->t->sequence && closing->kind == TRANSLATE_AFTER && i >= first; i--)
		closing = &s->t->edges[s->path[i].edge];
	return closing;
}

static void search_report_cycle(struct search *s, const struct translate_edge *edge)
{
	struct translation *t = s->t;
	char text[CYCLE_WIDTH * 2];
	int first = s->depth - 1;
	if (++s->cycles > CYCLES_MOST)
		return;
	while (t->steps[s->path[first].member].with != t->steps[edge->peer].with)
		first--;
	search_print_cycle(s, first, text, sizeof text);
	edge = search_find_cause(s, first, edge);
	translate_refuse(t, edge->line, edge->option, "cycle: %s", text);
	if (t->sequence)
		translate_hint(t, "without --after, each step waits for the one before it");
	else if (strstr(text, " = "))
		translate_hint(t, "each step waits for the next; = joins steps that start together by --with");
	else
		translate_hint(t, "each step waits for the next");
}

static void search_from(struct search *s, int set)
{
	struct translation *t = s->t;
	search_enter(s, set);
	while (s->depth > 0) {
		struct frame *top = &s->path[s->depth - 1];
		const struct translate_edge *edge = search_next_edge(s);
		if (!edge) {
			int done = t->steps[top->member].with;
			s->state[done] = 2;
			t->steps[done].topo = s->topo++;
			s->depth--;
			if (s->depth > 0)
				s->path[s->depth - 1].edge++;
			continue;
		}
		int peer = t->steps[edge->peer].with;
		if (s->state[peer] == 0) {
			search_enter(s, peer);
			continue;
		}
		if (s->state[peer] == 1)
			search_report_cycle(s, edge);
		top->edge++;
	}
}

void translate_graph(struct translation *t)
{
	graph_make_sets(t);
	graph_check_nodes(t);
	struct search s = {.t = t};
	s.path = xcalloc((size_t)t->step_count, sizeof *s.path);
	s.state = xcalloc((size_t)t->step_count, 1);
	for (int i = 0; i < t->step_count; i++)
		if (t->steps[i].with == i && s.state[i] == 0)
			search_from(&s, i);
	for (int i = 0; i < t->step_count; i++)
		t->steps[i].topo = t->steps[t->steps[i].with].topo;
	free(s.path);
	free(s.state);
}
