/* attempt_set.h - a set of step attempts, each kept until a time of its own. */
#ifndef ROTA_PROCMGR_ATTEMPT_SET_H
#define ROTA_PROCMGR_ATTEMPT_SET_H

#include "procmgr/record/record.h"

struct attempt_set;

struct attempt_set *attempt_set_new(void);
void attempt_set_free(struct attempt_set *s);

/* Keep `key` until `expires` (> 0) at least. Keys that have expired at `now` may be dropped from the set. */
void attempt_set_add(struct attempt_set *s, const struct record_key *key, int64_t expires, int64_t now);
bool attempt_set_has(const struct attempt_set *s, const struct record_key *key);
/* Returns the highest attempt number among the attempts of `s` that belong to the step of `key`, or 0 if there are none. */
int attempt_set_newest(const struct attempt_set *s, const struct record_key *key);
int attempt_set_count(const struct attempt_set *s);

#endif
