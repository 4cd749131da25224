/* substep_part.h - the tasks of a sub-step on another node, as its step manager sees them. */
#ifndef ROTA_PROCMGR_SUBSTEP_PART_H
#define ROTA_PROCMGR_SUBSTEP_PART_H

#include "procmgr/stepmgr/substep_engine.h"

/* Returns the part of a sub-step on a node, NULL if there is none. `node`: index in substep_nodes. */
struct substep_part *substep_part_on(const struct substep *s, int node);

/* Add a part on a node to a sub-step. The node's name must outlive the part. */
void substep_part_add(struct substep *s, int node, const char *name, struct substep_ranks ranks, struct substep_share share);

/* Free all parts of a sub-step. */
void substep_part_free_all(struct substep *s);

/* Returns the request `run` for the part, without the environment, which the agent has already. */
json_t *substep_part_request(const struct substep *s, const struct substep_part *part);

/* Handle an event that the agent has sent about the part. Returns true if the part has ended; its figures are then added to those
 * of the sub-step, and *failed is true if one of its tasks has failed. */
bool substep_part_take(struct substep *s, struct substep_part *part, const char *name, const json_t *event, const void *bytes,
		       size_t size, bool *failed);

#endif
