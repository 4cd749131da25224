/* lead_plan.h - why the steps that were not started wait, and when they are expected to start, as api.schedule_plan takes it. */
#ifndef ROTA_LEAD_PLAN_H
#define ROTA_LEAD_PLAN_H

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/seal.h"

/* The plan as a JSON list; malloc'ed. Two passes that found the same give the same text. */
char *lead_plan_text(const struct lead_rows *rows, const struct schedule_result *result);

/* What tells one plan from another, for a small part of what the text costs. */
void lead_plan_hash(const struct schedule_result *result, unsigned char hash[SEAL_HASH_SIZE]);

#endif
