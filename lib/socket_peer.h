/* socket_peer.h - the process at the other end of a Unix socket. */
#ifndef ROTA_LIB_SOCKET_PEER_H
#define ROTA_LIB_SOCKET_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

/* Set `peer` to the process, user and group at the other end of a connected Unix socket. The kernel recorded them when the client called
 * connect(), or the server listen(); another process may have the socket now. peer->pid is 0 if the process is in another PID namespace.
 * Returns false and leaves `peer` unchanged if `fd` is another kind of socket, such as a TCP connection. */
bool socket_peer_read(int fd, struct ucred *peer);

#endif
