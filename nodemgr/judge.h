/* judge.h - lets the database judge the leases of nodes at intervals, and logs the changes of state. */
#ifndef ROTA_JUDGE_H
#define ROTA_JUDGE_H

#include <event2/event.h>

#include "lib/conf.h"
#include "lib/db.h"

struct judge;

/* Start to poll every nodemgr.period seconds. The caller keeps `db` open for as long as the judge lives. */
struct judge *judge_new(struct event_base *base, const struct conf *conf, struct db *db);
void judge_free(struct judge *judge);

/* Start to observe the database's clock anew, after a new connection was made. */
void judge_reset(struct judge *judge);

#endif
