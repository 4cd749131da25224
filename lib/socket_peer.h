/* socket_peer.h - the other end of a connected socket: which process it is, and whether it has closed the connection. */
#ifndef ROTA_LIB_SOCKET_PEER_H
#define ROTA_LIB_SOCKET_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

/* Set `peer` to the process, user and group at the other end of a connected Unix socket. The kernel recorded them when the client called
 * connect(), or the server listen(); another process may have the socket now. peer->pid is 0 if the process is in another PID namespace.
 * Returns false and leaves `peer` unchanged if `fd` is another kind of socket, such as a TCP connection. */
bool socket_peer_read(int fd, struct ucred *peer);

/* Returns true if the other end of a connection, of a Unix socket or TCP, has closed or reset it, or has shut down its sending side, even
 * if bytes that it sent before have not been read. An event EV_CLOSED of libevent does not notice a reset: libevent reports that as
 * EV_READ, neither calls nor ends an event for EV_CLOSED alone, and polls without a pause. */
bool socket_peer_has_closed(int fd);

#endif
