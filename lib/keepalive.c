/* keepalive.c - TCP keepalive (keepalive.h).
 *
 * Called by: step managers and jobmgrd, for connections that may be idle for days. */
#include "lib/keepalive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void keepalive_watch(int fd)
{
	static const int on = 1, idle_s = 30, pause_s = 10, probes = 3;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause_s, sizeof pause_s);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
