/* dag.c - the graph of `rota run --file` (dag.h). The conditions mean what they mean for steps of a job (docs/submitting.md).
 *
 * Called by: run_file.c.
 * Invariants:
 * - A unit is decided once. A call of dag_next() decides by the ends of units that earlier calls of dag_note() reported. */
#include "bin/rota/steps/dag.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

static long json_long(const json_t *object, const char *key)
{
	return (long)json_integer_value(json_object_get(object, key));
}

/* -- from the plan */

static void dag_add_unit(struct dag *d, int *room, int step, int index)
{
	if (d->unit_count == *room) {
		*room = *room * 2 + 64;
		d->units = xrealloc(d->units, (size_t)*room * sizeof(*d->units));
	}
	d->units[d->unit_count++] = (struct dag_unit){.step = step, .index = index};
}

/* Add the elements of an array, whose indices are triples: lowest, highest, distance. */
static void dag_add_elements(struct dag *d, int *room, int step, const json_t *indices)
{
	const json_t *range;
	size_t i;

	json_array_foreach (indices, i, range) {
		long low = (long)json_integer_value(json_array_get(range, 0)),
		     high = (long)json_integer_value(json_array_get(range, 1)),
		     distance = (long)json_integer_value(json_array_get(range, 2));

		for (long index = low; index <= high; index += distance > 0 ? distance : 1)
			dag_add_unit(d, room, step, (int)index);
	}
}

static void dag_add_step(struct dag *d, int *room, const json_t *plan)
{
	int number = d->step_count++;
	struct dag_step *s = &d->steps[number];
	const json_t *array = json_object_get(plan, "array");

	*s = (struct dag_step){.plan = plan, .first = d->unit_count, .any = json_is_true(json_object_get(plan, "deps_any"))};
	s->topo = (int)json_long(plan, "topo");
	s->limit = json_long(array, "limit");
	if (json_is_object(array))
		dag_add_elements(d, room, number, json_object_get(array, "indices"));
	else
		dag_add_unit(d, room, number, -1);
	s->count = d->unit_count - s->first;
}

/* Returns the index of the step with this number; numbers grow with the index. */
static int dag_find_step(const struct dag *d, long id)
{
	int low = 0, high = d->step_count - 1;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (json_long(d->steps[middle].plan, "step_id") < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Add an edge. The edges of one step are adjacent. */
static void dag_add_edge(struct dag *d, const json_t *edge)
{
	static const char *const conditions[] = {"ok", "any", "fail", "start", "corr"};
	struct dag_step *s = &d->steps[dag_find_step(d, json_long(edge, "step_id"))];
	const char *condition = json_string_value(json_object_get(edge, "condition"));
	int i = DAG_OK;

	while (i < DAG_CORR && strcmp(conditions[i], condition) != 0)
		i++;
	if (!s->edge_count++)
		s->first_edge = d->edge_count;
	s->has_corr |= i == DAG_CORR;
	d->edges[d->edge_count++] = (struct dag_edge){dag_find_step(d, json_long(edge, "peer_step")), (enum dag_condition)i};
}

static int dag_compare_topo(const void *a, const void *b, void *of)
{
	const struct dag *d = of;
	int x = *(const int *)a, y = *(const int *)b, left = d->steps[x].topo, right = d->steps[y].topo;

	return left != right ? (left > right) - (left < right) : (x > y) - (x < y);
}

void dag_make(struct dag *d, const json_t *plan)
{
	const json_t *steps = json_object_get(plan, "steps"), *edges = json_object_get(plan, "edges"), *value;
	int room = 0;
	size_t i;

	*d = (struct dag){.steps = xcalloc(json_array_size(steps) + 1, sizeof(*d->steps)),
			  .edges = xcalloc(json_array_size(edges) + 1, sizeof(*d->edges)),
			  .order = xcalloc(json_array_size(steps) + 1, sizeof(*d->order))};
	json_array_foreach (steps, i, value) {
		d->order[i] = (int)i;
		dag_add_step(d, &room, value);
	}
	json_array_foreach (edges, i, value)
		dag_add_edge(d, value);
	qsort_r(d->order, (size_t)d->step_count, sizeof(*d->order), dag_compare_topo, d);
}

void dag_free(struct dag *d)
{
	free(d->steps);
	free(d->units);
	free(d->edges);
	free(d->order);
}

/* -- decisions */

static bool step_has_ended(const struct dag_step *s)
{
	return s->completed + s->skipped + s->bad == s->count;
}

/* Returns the decision of a condition on a whole array: its worst element counts. */
static enum dag_turn step_turn(const struct dag_step *peer, enum dag_condition condition)
{
	if (condition == DAG_START_OF && peer->started == peer->count)
		return DAG_START;
	if (!step_has_ended(peer))
		return DAG_WAIT;
	if (condition == DAG_ANY)
		return DAG_START;
	if (peer->bad)
		return condition == DAG_FAIL ? DAG_START : DAG_CANNOT;
	if (peer->skipped || condition == DAG_FAIL)
		return DAG_SKIP;
	return DAG_START;
}

static enum dag_turn element_turn(const struct dag_unit *peer)
{
	switch (peer->state) {
	case DAG_COMPLETED:
		return DAG_START;
	case DAG_SKIPPED:
		return DAG_SKIP;
	case DAG_FAILED:
	case DAG_NEVER:
		return DAG_CANNOT;
	default:
		return DAG_WAIT;
	}
}

/* Returns the decision of all conditions on the unit at `position` of a step. *peer: step of the condition that decides. */
static enum dag_turn unit_turn(const struct dag *d, const struct dag_step *s, int position, int *peer)
{
	bool waits = false, cannot = false;

	for (int i = s->first_edge; i < s->first_edge + s->edge_count; i++) {
		const struct dag_edge *edge = &d->edges[i];
		const struct dag_step *other = &d->steps[edge->peer];
		enum dag_turn turn = edge->condition == DAG_CORR ? element_turn(&d->units[other->first + position])
								 : step_turn(other, edge->condition);

		if (turn == DAG_WAIT)
			waits = true;
		else if (s->any ? turn == DAG_START : turn != DAG_START)
			return *peer = edge->peer, turn;
		else if (turn == DAG_CANNOT)
			cannot = true;
		if (turn == DAG_CANNOT || !cannot)
			*peer = edge->peer;
	}
	if (waits)
		return DAG_WAIT;
	if (!s->any || !s->edge_count)
		return DAG_START;
	return cannot ? DAG_CANNOT : DAG_SKIP;
}

static void unit_settle(struct dag_step *s, struct dag_unit *u, enum dag_turn turn)
{
	if (turn == DAG_START) {
		u->state = DAG_SENT;
		s->under_way++;
	} else if (turn == DAG_SKIP) {
		u->state = DAG_SKIPPED;
		s->skipped++;
	} else {
		u->state = DAG_NEVER;
		s->bad++;
	}
}

static enum dag_turn step_next(struct dag *d, struct dag_step *s, int *unit, int *peer)
{
	while (s->next < s->count && d->units[s->first + s->next].state != DAG_OPEN)
		s->next++;
	for (int i = s->next; i < s->count; i++) {
		struct dag_unit *u = &d->units[s->first + i];
		enum dag_turn turn;

		if (u->state != DAG_OPEN)
			continue;
		turn = unit_turn(d, s, i, peer);
		if (turn == DAG_START && s->limit && s->under_way >= s->limit)
			return DAG_WAIT;
		if (turn != DAG_WAIT) {
			unit_settle(s, u, turn);
			*unit = s->first + i;
			return turn;
		}
		if (!s->has_corr)
			return DAG_WAIT;
	}
	return DAG_WAIT;
}

enum dag_turn dag_next(struct dag *d, int *unit, int *peer)
{
	for (int i = 0; i < d->step_count; i++) {
		struct dag_step *s = &d->steps[d->order[i]];
		enum dag_turn turn =
			s->under_way + s->completed + s->skipped + s->bad == s->count ? DAG_WAIT : step_next(d, s, unit, peer);

		if (turn != DAG_WAIT)
			return turn;
	}
	return DAG_WAIT;
}

void dag_note(struct dag *d, int unit, enum dag_state state)
{
	struct dag_unit *u = &d->units[unit];
	struct dag_step *s = &d->steps[u->step];
	bool is_new = u->state == DAG_OPEN;

	if (!u->started && (state == DAG_STARTED || state == DAG_COMPLETED)) {
		u->started = true;
		s->started++;
	}
	u->state = state;
	if (state == DAG_STARTED)
		return;
	s->under_way -= !is_new;
	s->completed += state == DAG_COMPLETED;
	s->bad += state == DAG_FAILED;
}
