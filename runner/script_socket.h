/* script_socket.h - the hook socket, on which runnerd calls functions of the site's scripts for jobmgrd (docs/formats.md, "The
 * hook socket"). */
#ifndef ROTA_RUNNER_SCRIPT_SOCKET_H
#define ROTA_RUNNER_SCRIPT_SOCKET_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/conf.h"

struct script_socket;

/* Listen at hooks.socket. While that fails, for example because another runnerd listens there, it is tried again every second.
 * Returns NULL if no script is configured. The caller keeps `conf`. */
struct script_socket *script_socket_open(struct event_base *base, const struct conf *conf);

/* Kill the processes of the scripts, close all connections and remove the socket. */
void script_socket_close(struct script_socket *socket);

/* Reap the process `pid` if it is one of the processes that run scripts for the socket. Returns false if it is not. */
bool script_socket_reap(struct script_socket *socket, pid_t pid);

#endif
