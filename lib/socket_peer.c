/* socket_peer.c - the other end of a connected socket: which process it is, as the kernel recorded it (SO_PEERCRED), and whether it has
 * closed the connection.
 *
 * Called by: gate_quota.c, script_socket.c, substep_client.c, terminal.c and criu_socket.c for the processes that connect to them;
 * db_connect.c, substep_terminal.c and criu_socket.c for those that they connect to; gate_hangup.c and substep_client.c, to see that a
 * client has gone.
 * Invariants:
 * - Only the kernel says who the peer is, so no process can pass for another user. */
#include "lib/socket_peer.h"

#include <poll.h>
#include <sys/types.h>

bool socket_peer_read(int fd, struct ucred *peer)
{
	struct ucred read;
	socklen_t size = sizeof read;
	/* For a socket of another kind, the kernel answers with uid -1. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &read, &size) < 0 || read.uid == (uid_t)-1)
		return false;
	*peer = read;
	return true;
}

bool socket_peer_has_closed(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	return poll(&p, 1, 0) == 1;
}
