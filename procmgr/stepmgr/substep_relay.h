/* substep_relay.h - passes bytes on between two streams. */
#ifndef ROTA_PROCMGR_SUBSTEP_RELAY_H
#define ROTA_PROCMGR_SUBSTEP_RELAY_H

#include <event2/bufferevent.h>

/* Pass on all that comes on one stream to the other, until one of them ends; takes both. `far` may still be connecting. */
void substep_relay_begin(struct bufferevent *near, struct bufferevent *far);

/* Pass on streams as substep_relay_begin() does, to a `far` that closes the connection itself when it has all that `near` has
 * sent. Closing the connection here could lose bytes: the kernel drops what the other side has not read yet when more comes
 * from there. */
void substep_relay_join(struct bufferevent *near, struct bufferevent *far);

#endif
