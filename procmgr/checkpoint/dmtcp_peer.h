/* dmtcp_peer.h - finds the user at the other end of a TCP connection on this machine. */
#ifndef ROTA_DMTCP_PEER_H
#define ROTA_DMTCP_PEER_H

#include <stdbool.h>

/* Does the other end of an accepted IPv4 connection belong to a process of this user, on this machine? */
bool dmtcp_peer_is_own(int fd);

#endif
