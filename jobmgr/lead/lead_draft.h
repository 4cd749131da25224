/* lead_draft.h - the launch requests of one commit until they are signed. Launch requests that differ only in the array
 * element, or only in the node, become one. */
#ifndef ROTA_LEAD_DRAFT_H
#define ROTA_LEAD_DRAFT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/order.h"
#include "lib/seal.h"

struct lead_drafts;

/* Make an empty list of launch requests. `node_count` is the number of node indices. With `separate`, each array element has a
 * launch request of its own. */
struct lead_drafts *lead_drafts_new(size_t node_count, bool separate);
void lead_drafts_free(struct lead_drafts *d);

/* Hints for procmgrd beside a launch request. The signature does not cover hints, so the launcher never uses them. */
struct lead_hint {
	int sample_s; /* seconds between samples of the step's resource use; 0: no samples */
	/* of a pre-dispatched element: first and last step id of the elements of its array; 0: the element begins at once */
	int first, last;
	/* of a step that is sent ahead: the step that it waits for, and its attempt; after_attempt 0: it waits for none */
	int after, after_attempt;
	int hold_s; /* of a pre-dispatched element, or a step that is sent ahead: seconds for which its node may hold it beyond the default */
};

/* Add a launch request for a node. The strings of `order` and the spec must stay until the launch request is signed. Elements
 * of one array must have the same `spec` pointer. */
void lead_drafts_add(struct lead_drafts *d, size_t node, int node_id, const struct order *order, const char *spec,
		     const struct lead_hint *hint);

/* Sign all launch requests and remove them from the list. Returns [{node_ids, kind, job_id, step_id, attempt, also, body,
 * signature, args}], as api.schedule_commit takes them. */
json_t *lead_drafts_sign(struct lead_drafts *d, const struct seal_sign_key *key);

#endif
