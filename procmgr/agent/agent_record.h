/* agent_record.h - records of the journal as JSON for api.node_report. */
#ifndef ROTA_PROCMGR_AGENT_RECORD_H
#define ROTA_PROCMGR_AGENT_RECORD_H

#include <jansson.h>

#include "procmgr/record/record.h"

/* One record; NULL where it is not for the database. New reference. */
json_t *agent_record_json(const struct fields *record, int64_t node_id, int64_t now);

/* Add the attempt to `ready`, if these records say that it is ready and waits for the other nodes of its step, and nothing
 * else. */
bool agent_record_add_ready(json_t *ready, int64_t node_id, struct fields *const *records, int count, int64_t now);

/* Add all records as one to `coalesced`, if they tell the attempt's whole course. False where a record does not fit: of a
 * hook, a pause, a second task. */
bool agent_record_add_coalesced(json_t *coalesced, int64_t node_id, struct fields *const *records, int count, int64_t now);

#endif
