/* lead_draft.h - the launch requests of one commit, before they are signed. Launch requests that differ only in the array
 * element, or only in the node, become one. */
#ifndef ROTA_LEAD_DRAFT_H
#define ROTA_LEAD_DRAFT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/order.h"
#include "lib/seal.h"

struct lead_drafts;

/* Make an empty list of launch requests. `node_count`: number of nodes. With `separate`, launch requests of array elements are
 * not merged. */
struct lead_drafts *lead_drafts_new(size_t node_count, bool separate);
void lead_drafts_free(struct lead_drafts *d);

/* Hints for procmgrd beside a launch request. The signature does not cover hints, so the launcher never uses them. */
struct lead_hint {
	int sample_s; /* seconds between samples of the step's resource use; 0: no samples */
	/* of a pre-dispatched element: first and last step id of the elements of its array; 0: the element starts at once */
	int first, last;
	/* of a step that is sent ahead: step id and attempt of its predecessor; after_attempt 0: the step is not sent ahead */
	int after, after_attempt;
	int hold_s; /* of a pre-dispatched or sent-ahead step: seconds beyond the default for which its node may hold it */
};

/* Add a launch request for a node. `node`: index of the node, less than node_count. The strings of `order` and `spec` must stay
 * until lead_drafts_sign(). Elements of one array must have the same `spec` pointer. */
void lead_drafts_add(struct lead_drafts *d, size_t node, int node_id, const struct order *order, const char *spec,
		     const struct lead_hint *hint);

/* Sign all launch requests and remove them from the list. Returns [{node_ids, kind, job_id, step_id, attempt, also, body,
 * signature, args}], as api.schedule_commit takes them. */
json_t *lead_drafts_sign(struct lead_drafts *d, const struct seal_sign_key *key);

#endif
