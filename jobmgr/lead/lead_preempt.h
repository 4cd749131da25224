/* lead_preempt.h - preemption in a scheduling cycle: claims are reserved, victims are picked, picks become the argument of
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

/* Does the step have a claim: resources that preemption keeps for it? */
bool lead_preempt_has_claim(const struct lead_rows *rows, int64_t job, int step);

/* May a step that waits in `result` preempt other steps? Sets *tier to the highest tier of such waiting steps. */
bool lead_preempt_is_wanted(const struct lead_rows *rows, const struct schedule_result *result, int *tier);

/* Returns the seconds until the first candidate of the rows reaches the end of its minimal run time; INFINITY: all have. */
double lead_preempt_next_in(const struct lead_rows *rows);

/* Returns the claim of `start` as JSON: the resources to keep for a step while victims make room for it. The caller owns it. */
json_t *lead_preempt_claim_json(const struct schedule_pending *step, const struct schedule_start *start);

/* Pick victims among the candidates of the rows. Returns the picks as JSON, to be freed, or NULL if there are none. *has_more:
 * there were picks, and steps that were not tried yet are left to the next cycle. */
char *lead_preempt_picks_json(const struct lead_rows *rows, const struct schedule_policy *policy,
			      const struct schedule_result *result, bool *has_more);

#endif
