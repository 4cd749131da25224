/* lead_draft.h - the launch orders of one commit until they are signed: those that differ in nothing but the element of an array that
 * they are for, or in nothing but which of a step's nodes, become one. */
#ifndef ROTA_LEAD_DRAFT_H
#define ROTA_LEAD_DRAFT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/order.h"
#include "lib/seal.h"

struct lead_drafts;

/* For nodes 0 to node_count - 1, as lead_drafts_add calls them. each: every element keeps an order of its own. */
struct lead_drafts *lead_drafts_new(size_t node_count, bool separate);
void lead_drafts_free(struct lead_drafts *d);

/* What procmgrd is told with an order. It is not signed: nothing of it is believed by root. */
struct lead_hint {
	int sample_s;	 /* seconds between samples of what the step uses, 0: none are taken */
	int first, last; /* the array of which elements stand ahead, as steps; 0: they begin at once */
};

/* An order for a node; what its strings and the spec point to has to stay until it is signed. Orders of one request have the same `spec`
 * pointer. */
void lead_drafts_add(struct lead_drafts *d, size_t node, int node_id, const struct order *order, const char *spec,
		     const struct lead_hint *hint);

/* Sign them all: [{node_ids, kind, job_id, step_id, attempt, also, body, signature, args}], as api.schedule_commit takes them. None is left. */
json_t *lead_drafts_sign(struct lead_drafts *d, const struct seal_sign_key *key);

#endif
