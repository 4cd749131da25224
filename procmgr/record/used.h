/* used.h - a set of step attempts, each remembered until a time of its own. */
#ifndef ROTA_PROCMGR_USED_H
#define ROTA_PROCMGR_USED_H

#include "procmgr/record/record.h"

struct used;

struct used *used_new(void);
void used_free(struct used *u);

/* Remember `key` until `expires` (> 0) at least; what has expired at `now` may be forgotten meanwhile. */
void used_add(struct used *u, const struct record_key *key, int64_t expires, int64_t now);
bool used_has(const struct used *u, const struct record_key *key);
/* The newest attempt of the key's step that is remembered, 0 = none is. */
int used_newest(const struct used *u, const struct record_key *key);
int used_count(const struct used *u);

#endif
