/* rota-dmtcp-nodes.c - a plugin of DMTCP, in each process of a step that DMTCP saves on several nodes.
 *
 * Called by: libdmtcp.so, whose functions and variables it takes the place of, or sets. dmtcp_launch loads it (--with-plugin).
 * Invariants:
 * - Between the steps of a checkpoint, processes wait for those of all nodes. DMTCP itself only waits for those that share memory.
 * - While a process is restored, the others reach it at the address of its node. DMTCP itself announces the address 0.0.0.0.
 * - A connection never holds more bytes under way than one that is restored does before anybody reads. DMTCP writes all of them into
 *   the new connection, and would wait for ever if they did not fit. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* SHARE: part of the largest send buffer that a connection uses, in each direction and at each end. So the bytes under way fit into
 * the send buffer alone when it is restored. BUFFER_MOST: more than the kernel allows. FDS_MOST: descriptors that are looked at. */
enum { SHARE = 4, BUFFER_MOST = INT_MAX / 4, FDS_MOST = 65536 };

/* Functions of DMTCP: wait until all processes of the computation have come here; return the descriptor of a file with the
 * environment in which dmtcp_restart was started. */
extern void dmtcp_global_barrier(const char *name);
extern int dmtcp_protected_environ_fd(void);
/* Is this a descriptor of DMTCP itself? */
extern int dmtcp_is_protected_fd(int fd);

/* jalib::JSockAddr::ANY, which begins with a list of addresses. A process that is restored listens at the first one, and
 * announces it. */
extern struct sockaddr_in any_address[] __asm__("_ZN5jalib9JSockAddr3ANYE") __attribute__((weak));

/* The function of DMTCP that waits for the processes of this node. The first one in a restart comes before sockets are restored. */
void dmtcp_local_barrier(const char *name);

/* Read the address of this node from the environment of the restart. Restored processes share the descriptor, and its position
 * with it, so this reads by position; dmtcp_get_restart_env() does not. */
static bool address_read(char text[INET_ADDRSTRLEN])
{
	static const char key[] = "ROTA_CHECKPOINT_ADDRESS=";
	const size_t length = sizeof key - 1;
	char bytes[1024];
	size_t at = 0; /* position in the variable that is being read */
	bool same = true;
	ssize_t got;
	for (off_t from = 0; (got = pread(dmtcp_protected_environ_fd(), bytes, sizeof bytes, from)) > 0; from += got) {
		for (ssize_t i = 0; i < got; i++, at++) {
			if (at < length)
				same = same && bytes[i] == key[at];
			else if (at - length < INET_ADDRSTRLEN)
				text[at - length] = bytes[i];
			if (bytes[i] == '\0' && same && at >= length && at - length < INET_ADDRSTRLEN)
				return true;
			if (bytes[i] == '\0') {
				at = (size_t)-1;
				same = true;
			}
		}
	}
	return false;
}

static int option_set(int fd, int level, int option, const void *value, socklen_t size)
{
	static int (*next)(int, int, int, const void *, socklen_t);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "setsockopt");
	return next(fd, level, option, value, size);
}

static int buffer_set(int fd, int option, int bytes)
{
	return option_set(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
}

static int buffer_size(int fd)
{
	int bytes = 0;
	socklen_t size = sizeof bytes;
	return getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &size) == 0 ? bytes : 0;
}

/* Returns the size of a buffer that a connection of the program has at most. The kernel doubles what it is given. */
static int buffer_limit(int fd)
{
	static int limit;
	if (limit == 0) {
		int before = buffer_size(fd);
		buffer_set(fd, SO_SNDBUF, BUFFER_MOST);
		limit = buffer_size(fd) / 2 / SHARE;
		buffer_set(fd, SO_SNDBUF, before / 2);
	}
	return limit;
}

static void buffers_bound(int fd)
{
	int limit = buffer_limit(fd);
	buffer_set(fd, SO_SNDBUF, limit);
	buffer_set(fd, SO_RCVBUF, limit);
}

static bool socket_is_tcp(int fd)
{
	int protocol = 0;
	socklen_t size = sizeof protocol;
	return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

int socket(int domain, int type, int protocol)
{
	static int (*next)(int, int, int);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "socket");
	int fd = next(domain, type, protocol);
	if (fd >= 0 && (domain == AF_INET || domain == AF_INET6) && socket_is_tcp(fd))
		buffers_bound(fd);
	return fd;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	int bytes;
	bool is_size = level == SOL_SOCKET && (option == SO_SNDBUF || option == SO_RCVBUF) && size == sizeof bytes && value;
	if (!is_size || !socket_is_tcp(fd))
		return option_set(fd, level, option, value, size);
	memcpy(&bytes, value, sizeof bytes);
	return buffer_set(fd, option, bytes < buffer_limit(fd) ? bytes : buffer_limit(fd));
}

/* While connections are restored, their send buffers are as large as the kernel allows. */
static void sockets_prepare(bool restored)
{
	for (int fd = 0; fd < FDS_MOST; fd++) {
		if (dmtcp_is_protected_fd(fd) || !socket_is_tcp(fd))
			continue;
		if (restored)
			buffers_bound(fd);
		else
			buffer_set(fd, SO_SNDBUF, BUFFER_MOST);
	}
}

void dmtcp_local_barrier(const char *name)
{
	char text[INET_ADDRSTRLEN];
	if (any_address && strcasestr(name, "restart") && address_read(text))
		inet_pton(AF_INET, text, &any_address[0].sin_addr);
	if (strcmp(name, "Socket::Restart_Ns_Send_Queries") == 0) /* they are connected, and empty */
		sockets_prepare(false);
	dmtcp_global_barrier(name);
	if (strcmp(name, "Socket::Restart_Refill") == 0)
		sockets_prepare(true);
}
