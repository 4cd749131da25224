/* agent_hold.h - records that have been read and are not in a report yet. */
#ifndef ROTA_PROCMGR_AGENT_HOLD_H
#define ROTA_PROCMGR_AGENT_HOLD_H

#include "procmgr/record/record.h"

struct agent_hold;

struct agent_hold *agent_hold_new(void);
void agent_hold_free(struct agent_hold *h);
void agent_hold_clear(struct agent_hold *h);

/* One more record of an attempt, which stands at `position` of the journal and is to be told by `due`. */
void agent_hold_add(struct agent_hold *h, const struct record_key *key, const struct fields *record, int64_t position,
		    int64_t due);
int agent_hold_count(const struct agent_hold *h);

/* When the first of them is due; INT64_MAX: there are none. */
int64_t agent_hold_due(const struct agent_hold *h);
/* Everything before this position has been taken out; where nothing is held: `read_to`. */
int64_t agent_hold_from(const struct agent_hold *h, int64_t read_to);

/* All that is held of an attempt, in its order; answers as how many records that counts. */
typedef int agent_hold_each(const struct record_key *key, struct fields *const *records, int count, void *arg);

/* Take out all records of the attempts of which one is due by `now`, but no further attempt once so many records are out. */
void agent_hold_take(struct agent_hold *h, int64_t now, int most, agent_hold_each *each, void *arg);

#endif
