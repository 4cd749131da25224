/* criu_socket.h - the socket at which the first process of a step is asked to have CRIU save it. */
#ifndef ROTA_CRIU_SOCKET_H
#define ROTA_CRIU_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Listen at a socket in a folder. Returns a descriptor, -1 with an error. */
int criu_socket_listen(int folder, struct err *e);
/* Connect to it. Returns a descriptor, -1 with an error. */
int criu_socket_connect(int folder, struct err *e);
/* Is the other side a process of the same user? */
bool criu_socket_is_own(int fd);
/* Returns the process that listens at a socket that was connected to, as this PID namespace has it; 0: none. */
pid_t criu_socket_peer(int fd);

#endif
