/* credd.h - the keeper of credentials: the only daemon that can open the credentials that users have added with `rota cred`. */
#ifndef ROTA_CREDMGR_CREDD_H
#define ROTA_CREDMGR_CREDD_H

#include <event2/event.h>

#include "lib/conf.h"

struct credd;

/* Start rota-credd on an event loop. Ends the process if its keys cannot be read. */
struct credd *credd_open(struct event_base *base, const struct conf *conf, const char *name);
void credd_close(struct credd *c);

#endif
