/* substep_relay.h - passes bytes on between two streams. */
#ifndef ROTA_PROCMGR_SUBSTEP_RELAY_H
#define ROTA_PROCMGR_SUBSTEP_RELAY_H

#include <event2/bufferevent.h>

/* Pass on all that comes on one stream to the other, until one of them ends; takes both. `far` may still be connecting. */
void substep_relay_begin(struct bufferevent *near, struct bufferevent *far);

#endif
