/* agent_record.h - makes JSON for api.node_report from records of the journal. */
#ifndef ROTA_PROCMGR_AGENT_RECORD_H
#define ROTA_PROCMGR_AGENT_RECORD_H

#include <jansson.h>

#include "procmgr/record/record.h"

/* Make JSON of one record, as a new reference. Returns NULL if the record is not for the database. */
json_t *agent_record_json(const struct fields *record, int64_t node_id);

/* Add the attempt to `ready` and return true if `records` only say that the attempt is ready and waits for the other nodes of its
 * step. */
bool agent_record_add_ready(json_t *ready, int64_t node_id, struct fields *const *records, int count);

/* Add all records as one entry to `coalesced` if the records cover the attempt from start to end. Returns false if they do not,
 * or if a record is of a hook, a suspension or a second task. */
bool agent_record_add_coalesced(json_t *coalesced, int64_t node_id, struct fields *const *records, int count);

#endif
