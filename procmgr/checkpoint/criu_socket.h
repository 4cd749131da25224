/* criu_socket.h - the socket at which the first process of a step is asked to have CRIU save it. */
#ifndef ROTA_CRIU_SOCKET_H
#define ROTA_CRIU_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Listen at the socket CRIU_INIT_SOCKET in a folder. Returns a descriptor, -1 with an error. */
int criu_socket_listen(int folder, struct err *e);
/* Connect to that socket. Returns a descriptor, -1 with an error. */
int criu_socket_connect(int folder, struct err *e);
/* Is the peer of a connected socket a process of the same user? */
bool criu_socket_is_own(int fd);
/* Returns the process that listens at the socket to which `fd` is connected, by its number in this PID namespace; 0: it is
 * not visible there. */
pid_t criu_socket_peer(int fd);

#endif
