/* criu_socket.c - the socket at which the first process of a step is asked to have CRIU save it (criu_socket.h).
 *
 * Called by: criu_init.c, driver_criu.c.
 * Invariants:
 * - The folder is reached by its descriptor: its path may be longer than the address of a socket. */
#include "procmgr/checkpoint/criu_socket.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/socket_peer.h"
#include "procmgr/checkpoint/criu_init.h"

enum { BACKLOG = 8 };

static struct sockaddr_un address_of(int folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, CRIU_INIT_SOCKET);
	return address;
}

int criu_socket_listen(int folder, struct err *e)
{
	struct sockaddr_un address = address_of(folder);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unlinkat(folder, CRIU_INIT_SOCKET, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	err_sys(e, "could not listen at the socket for CRIU");
	if (fd >= 0)
		close(fd);
	return -1;
}

int criu_socket_connect(int folder, struct err *e)
{
	struct sockaddr_un address = address_of(folder);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	err_sys(e, "the program has not started yet, or not for CRIU");
	if (fd >= 0)
		close(fd);
	return -1;
}

bool criu_socket_is_own(int fd)
{
	struct ucred peer;
	return socket_peer_read(fd, &peer) && peer.uid == geteuid();
}

pid_t criu_socket_peer(int fd)
{
	struct ucred peer;
	return socket_peer_read(fd, &peer) ? peer.pid : 0;
}
