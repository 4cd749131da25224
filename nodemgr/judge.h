/* judge.h - the node manager's look at leases and health, again and again. */
#ifndef ROTA_JUDGE_H
#define ROTA_JUDGE_H

#include <event2/event.h>

#include "lib/conf.h"

struct judge;

/* Begin to judge, under `name`; `conf` is the caller's and outlives it. */
struct judge *judge_open(struct event_base *base, const struct conf *conf, const char *name);
void judge_close(struct judge *judge);

#endif
