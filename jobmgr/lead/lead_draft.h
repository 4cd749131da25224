/* lead_draft.h - the orders of one commit until they are signed. Orders that differ only in the array element, or only in the
 * node of a
 * step, become one. */
#ifndef ROTA_LEAD_DRAFT_H
#define ROTA_LEAD_DRAFT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/order.h"
#include "lib/seal.h"

struct lead_drafts;

/* node_count: nodes are numbered from 0 on. `separate`: each element has its own order. */
struct lead_drafts *lead_drafts_new(size_t node_count, bool separate);
void lead_drafts_free(struct lead_drafts *d);

/* What procmgrd gets with an order. It is not signed, so the launcher never uses it. */
struct lead_hint {
	int sample_s;	 /* seconds between samples of the step's use, 0: no samples */
	int first, last; /* pre-dispatched: first and last step id of the array's elements; 0: it begins at once */
};

/* Add an order for a node. Its strings and the spec must stay until it is signed. Orders of one request have the same `spec`
 * pointer. */
void lead_drafts_add(struct lead_drafts *d, size_t node, int node_id, const struct order *order, const char *spec,
		     const struct lead_hint *hint);

/* Sign all orders: [{node_ids, kind, job_id, step_id, attempt, also, body, signature, args}], as api.schedule_commit takes them.
 * Afterwards there are none. */
json_t *lead_drafts_sign(struct lead_drafts *d, const struct seal_sign_key *key);

#endif
