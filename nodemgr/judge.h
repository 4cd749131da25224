/* judge.h - lets the database judge leases and health of nodes, again and again, and logs the changes. */
#ifndef ROTA_JUDGE_H
#define ROTA_JUDGE_H

#include <event2/event.h>

#include "lib/conf.h"
#include "lib/db.h"

struct judge;

/* Start to poll every nodemgr.period seconds. The caller keeps `db` open for as long as the judge lives. */
struct judge *judge_new(struct event_base *base, const struct conf *conf, struct db *db);
void judge_free(struct judge *judge);

/* A new connection was made: observe the database's clock from now on. */
void judge_reset(struct judge *judge);

#endif
