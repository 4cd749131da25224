/* nodemgr.h - starts and ends the node manager, which judges nodes and keeps up tables. */
#ifndef ROTA_NODEMGR_H
#define ROTA_NODEMGR_H

#include <event2/event.h>

#include "lib/conf.h"

struct nodemgr;

/* Start a node manager with this name. The caller keeps `conf` for as long as the node manager lives. */
struct nodemgr *nodemgr_open(struct event_base *base, const struct conf *conf, const char *name);
void nodemgr_close(struct nodemgr *nodemgr);

#endif
