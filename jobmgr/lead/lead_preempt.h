/* lead_preempt.h - preemption in a scheduling cycle: claims are kept, victims are picked, picks become the argument of
 * api.schedule_preempt. */
#ifndef ROTA_LEAD_PREEMPT_H
#define ROTA_LEAD_PREEMPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"

/* Reserve in the snapshot the free resources that claims of preemption keep. */
void lead_preempt_keep(struct lead_rows *rows);

/* Is anything kept for the step? */
bool lead_preempt_has_claim(const struct lead_rows *rows, int64_t job, int step);

/* May a step that waits in the result preempt others? `tier` is set to the highest tier of these steps. */
bool lead_preempt_is_wanted(const struct lead_rows *rows, const struct schedule_result *result, int *tier);

/* Returns the seconds until a candidate of the rows reaches the end of its minimal run time, or INFINITY. */
double lead_preempt_next_in(const struct lead_rows *rows);

/* Returns the resources that are to be kept for a step for which others make room, as a new reference. */
json_t *lead_preempt_claim_json(const struct schedule_pending *step, const struct schedule_start *start);

/* Pick victims among the candidates of the rows. Returns the picks as JSON, to be freed, or NULL if there are none. `has_more`: the next
 * cycle has more to pick. */
char *lead_preempt_picks_json(const struct lead_rows *rows, const struct schedule_policy *policy,
			      const struct schedule_result *result, bool *has_more);

#endif
