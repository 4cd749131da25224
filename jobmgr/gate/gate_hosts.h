/* gate_hosts.h - a list of addresses and networks, as in gate.admin_hosts. For gate*.c only. */
#ifndef ROTA_GATE_HOSTS_H
#define ROTA_GATE_HOSTS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "lib/err.h"

struct gate_hosts;

/* Read a list such as "10.0.0.5, 10.1.0.0/24, fd00::/64". Returns NULL with an error if an item is malformed. */
struct gate_hosts *gate_hosts_new(const char *text, struct err *e);
void gate_hosts_free(struct gate_hosts *hosts);

bool gate_hosts_are_none(const struct gate_hosts *hosts);

/* Is the host at the other end of the TCP connection `fd` in the list? */
bool gate_hosts_have(const struct gate_hosts *hosts, int fd);

/* Is an IPv4 or IPv6 address in the list? */
bool gate_hosts_have_address(const struct gate_hosts *hosts, const struct sockaddr *host);

#endif
