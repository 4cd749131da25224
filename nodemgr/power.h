/* power.h - periodic calls that have idle nodes powered off and rebooted, and continue evacuations. */
#ifndef ROTA_NODEMGR_POWER_H
#define ROTA_NODEMGR_POWER_H

#include <event2/event.h>

#include "lib/conf.h"
#include "lib/db.h"

struct power;

struct power *power_new(struct event_base *base, const struct conf *conf, struct db *db);
void power_free(struct power *power);

#endif
