/* nodemgr.h - the node manager: its connection to the database and its parts. */
#ifndef ROTA_NODEMGR_H
#define ROTA_NODEMGR_H

#include <event2/event.h>

#include "lib/conf.h"

struct nodemgr;

/* Start a node manager of this name. The caller keeps `conf` for as long as it lives. */
struct nodemgr *nodemgr_open(struct event_base *base, const struct conf *conf, const char *name);
void nodemgr_close(struct nodemgr *nodemgr);

#endif
