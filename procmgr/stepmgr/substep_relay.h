/* substep_relay.h - passes bytes on between two streams. */
#ifndef ROTA_PROCMGR_SUBSTEP_RELAY_H
#define ROTA_PROCMGR_SUBSTEP_RELAY_H

#include <event2/bufferevent.h>

/* Pass all bytes of each stream on to the other, until one of them ends; takes both. `far` may still be connecting. */
void substep_relay_begin(struct bufferevent *near, struct bufferevent *far);

/* Pass bytes on as substep_relay_begin() does, to a `far` whose peer closes the connection itself when it has all bytes of
 * `near`. To close that connection here could lose bytes: the kernel drops bytes that the peer has not read yet if the peer sends
 * more. */
void substep_relay_join(struct bufferevent *near, struct bufferevent *far);

#endif
