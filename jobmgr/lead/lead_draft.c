/* lead_draft.c - merges and signs the launch requests of one commit.
 *
 * To sign and verify a launch request, and to send its row to the node, costs more than most other work for a short step.
 * Elements of an array that start on one node are mostly alike, and so are the nodes of a wide step. Alike elements or nodes get
 * one launch request. All launch requests of a commit are signed in batches (lib/seal_tree.h).
 * Called by: lead_order.c. */
#include "jobmgr/lead/lead_draft.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"
#include "lib/seal_tree.h"

struct draft {
	int *node_ids;
	int node_count, node_capacity;
	const char *spec;
	struct lead_hint hint;
	struct order order; /* launch request of the first element, for the first node */
	struct order_element elements[ORDER_ELEMENTS_MOST];
	int count;
};

struct lead_drafts {
	struct draft **drafts;
	size_t count, capacity;
	size_t *latest; /* by node index: 1 + index of the node's latest draft; 0: the node has no draft yet */
	size_t node_count;
	bool separate;
};

struct lead_drafts *lead_drafts_new(size_t node_count, bool separate)
{
	struct lead_drafts *d = xcalloc(1, sizeof *d);

	d->latest = xcalloc(node_count, sizeof *d->latest);
	d->node_count = node_count;
	d->separate = separate;
	return d;
}

static void drafts_clear(struct lead_drafts *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->drafts[i]->node_ids);
		free(d->drafts[i]);
	}
	d->count = 0;
	memset(d->latest, 0, d->node_count * sizeof *d->latest);
}

void lead_drafts_free(struct lead_drafts *d)
{
	if (!d)
		return;
	drafts_clear(d);
	free(d->drafts);
	free(d->latest);
	free(d);
}

/* Do both launch requests give the attempt the same resources on their nodes? */
static bool has_same_share(const struct order *a, const struct order *o)
{
	return a->tasks == o->tasks && a->cpus == o->cpus && a->mem_mb == o->mem_mb && strcmp(a->gres, o->gres) == 0 &&
	       a->prolog == o->prolog;
}

/* Do both launch requests differ only in the array element? Members that depend only on array, node and cycle are equal
 * anyway. */
static bool differs_in_element_only(const struct draft *x, const struct order *o, const char *spec, const struct lead_hint *hint)
{
	const struct order *a = &x->order;

	return x->spec == spec && x->hint.first == hint->first && a->job_id == o->job_id && a->attempt == o->attempt &&
	       a->array_index >= 0 && o->array_index >= 0 && a->node_count == 1 && o->node_count == 1 && has_same_share(a, o) &&
	       a->time_limit_s == o->time_limit_s && a->variables == o->variables && x->count < ORDER_ELEMENTS_MOST &&
	       x->elements[x->count - 1].step_id < o->step_id;
}

/* Is the launch request `o` for the next node of the attempt of draft `x`, with the same resources? */
static bool draft_is_of_next_node(const struct draft *x, const struct order *o)
{
	const struct order *a = &x->order;

	return o->node_count > 1 && a->job_id == o->job_id && a->step_id == o->step_id && a->attempt == o->attempt &&
	       a->node_index + x->node_count == o->node_index && has_same_share(a, o);
}

static void draft_add_node(struct draft *x, int node_id)
{
	if (x->node_count == x->node_capacity) {
		x->node_capacity = x->node_capacity ? 2 * x->node_capacity : 1;
		x->node_ids = xrealloc(x->node_ids, (size_t)x->node_capacity * sizeof *x->node_ids);
	}
	x->node_ids[x->node_count++] = node_id;
}

void lead_drafts_add(struct lead_drafts *d, size_t node, int node_id, const struct order *order, const char *spec,
		     const struct lead_hint *hint)
{
	struct draft *x = d->latest[node] > 0 ? d->drafts[d->latest[node] - 1] : NULL;

	if (d->count > 0 && draft_is_of_next_node(d->drafts[d->count - 1], order)) {
		draft_add_node(d->drafts[d->count - 1], node_id);
		return;
	}
	if (!x || d->separate || !differs_in_element_only(x, order, spec, hint)) {
		if (d->count == d->capacity) {
			d->capacity = d->capacity ? 2 * d->capacity : 16;
			d->drafts = xrealloc(d->drafts, d->capacity * sizeof *d->drafts);
		}
		x = xmalloc(sizeof *x);
		x->node_ids = NULL;
		x->node_count = x->node_capacity = 0;
		draft_add_node(x, node_id);
		x->spec = spec;
		x->hint = *hint;
		x->order = *order;
		x->count = 0;
		d->drafts[d->count++] = x;
		d->latest[node] = d->count;
	}
	x->elements[x->count++] = (struct order_element){order->step_id, order->array_index};
}

/* Returns the text of the launch request to sign. */
static struct fields *draft_write(struct draft *x)
{
	char *also = x->count > 1 ? order_elements_text(x->elements + 1, x->count - 1) : NULL;
	struct fields *fields;

	x->order.also = also;
	x->order.more_nodes = x->node_count - 1;
	fields = order_write(&x->order, x->spec);
	x->order.also = NULL;
	free(also);
	return fields;
}

/* Returns the hints for procmgrd as JSON. Members that are 0 are left out. */
static json_t *hint_json(const struct lead_hint *hint)
{
	json_t *json = json_object();

	if (hint->sample_s > 0)
		json_object_set_new(json, "sample_s", json_integer(hint->sample_s));
	if (hint->first > 0)
		json_object_update_new(json, json_pack("{s:i, s:i}", "first", hint->first, "last", hint->last));
	if (hint->after_attempt > 0)
		json_object_update_new(json, json_pack("{s:i, s:i}", "after", hint->after, "after_attempt", hint->after_attempt));
	if (hint->hold_s > 0)
		json_object_set_new(json, "hold_s", json_integer(hint->hold_s));
	return json;
}

static json_t *draft_json(const struct draft *x, const struct seal_text *text, const struct seal_proof *proof)
{
	char signature[2 * SEAL_PROOF_MOST + 1];
	json_t *steps = json_array(), *nodes = json_array(), *json;

	for (int i = 1; i < x->count; i++)
		json_array_append_new(steps, json_integer(x->elements[i].step_id));
	for (int i = 0; i < x->node_count; i++)
		json_array_append_new(nodes, json_integer(x->node_ids[i]));
	seal_hex(proof->bytes, proof->size, signature);
	json = json_pack("{s:o, s:s, s:I, s:i, s:i, s:o, s:s%, s:s}", "node_ids", nodes, "kind", "launch", "job_id",
			 (json_int_t)x->order.job_id, "step_id", x->order.step_id, "attempt", x->order.attempt, "also", steps,
			 "body", text->data, text->size, "signature", signature);
	if (!json)
		die("could not write the launch request of step %s as JSON", x->order.step_label);
	if (x->hint.sample_s > 0 || x->hint.first > 0 || x->hint.after_attempt > 0)
		json_object_set_new(json, "args", hint_json(&x->hint));
	return json;
}

/* Sign at most SEAL_TREE_MOST drafts with one signature. */
static void drafts_sign_batch(struct draft **drafts, int count, const struct seal_sign_key *key, json_t *orders)
{
	struct fields *fields[SEAL_TREE_MOST];
	struct seal_text texts[SEAL_TREE_MOST] = {{NULL, 0}};
	struct seal_proof proofs[SEAL_TREE_MOST];

	for (int i = 0; i < count; i++) {
		fields[i] = draft_write(drafts[i]);
		texts[i].data = fields_text(fields[i], &texts[i].size);
	}
	seal_tree_sign(key, texts, count, proofs);
	for (int i = 0; i < count; i++) {
		json_array_append_new(orders, draft_json(drafts[i], &texts[i], &proofs[i]));
		fields_free(fields[i]);
	}
}

json_t *lead_drafts_sign(struct lead_drafts *d, const struct seal_sign_key *key)
{
	json_t *orders = json_array();

	for (size_t i = 0; i < d->count; i += SEAL_TREE_MOST)
		drafts_sign_batch(d->drafts + i, d->count - i < SEAL_TREE_MOST ? (int)(d->count - i) : SEAL_TREE_MOST, key,
				  orders);
	drafts_clear(d);
	return orders;
}
