/* socket_peer.h - the process at the other end of a Unix socket. */
#ifndef ROTA_LIB_SOCKET_PEER_H
#define ROTA_LIB_SOCKET_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

/* Set `peer` to the process, user and group at the other end of a connected Unix socket. They are those of the connecting process when
 * it connected, and of the listening process when it began to listen, whoever has the socket now. peer->pid is 0 if that process is not
 * in this PID namespace. Returns false, without a change of `peer`, if `fd` is no such socket, such as a TCP connection. */
bool socket_peer_read(int fd, struct ucred *peer);

#endif
