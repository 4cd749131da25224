/* upkeep.h - periodic work on tables: usage figures of ended attempts, and table ranges ahead of need. */
#ifndef ROTA_NODEMGR_UPKEEP_H
#define ROTA_NODEMGR_UPKEEP_H

#include <event2/event.h>

#include "lib/conf.h"
#include "lib/db.h"

struct upkeep;

/* Start the periodic work. The caller keeps `db` open for as long as the upkeep lives. */
struct upkeep *upkeep_new(struct event_base *base, const struct conf *conf, struct db *db);
void upkeep_free(struct upkeep *upkeep);

/* Make table ranges now, after a new connection was made. */
void upkeep_start(struct upkeep *upkeep);

#endif
