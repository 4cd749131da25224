/* gate_listen.c - opens the Unix socket, the TCP socket, and buffers of connections.
 *
 * Called by: gate.c, at the start and for each connection.
 * Invariants:
 * - The mode of the Unix socket is 0666: the credential of each request identifies the client, not the connection.
 * - Only the process that owns the lock of a socket file removes the file. */
#include "jobmgr/gate/gate_listen.h"

#include <errno.h>
#include <event2/bufferevent_ssl.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/log.h"

enum {
	/* Most connections that wait in the kernel to be accepted: as many as the kernel allows by default
	 * (net.core.somaxconn). If the queue is full, the kernel drops a TCP connection, and the client tries again only after
	 * 1, 3, 7, 15, ... seconds. */
	LISTEN_BACKLOG = 4096
};

/* Remove the socket file that an earlier process left. */
static bool listen_unlink_stale(const char *path, struct err *e)
{
	struct stat found;

	if (lstat(path, &found) < 0)
		return errno == ENOENT || err_sys(e, "could not stat \"%s\"", path);
	if (!S_ISSOCK(found.st_mode)) {
		err_set(e, "\"%s\" is not a socket", path);
		return err_hint(e, "Remove it, or name another \"socket\" in section \"gate\" of rota.conf.");
	}
	return unlink(path) == 0 || err_sys(e, "could not remove the stale socket \"%s\"", path);
}

int gate_listen_unix(const char *path, struct err *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof address.sun_path) {
		err_set(e, "socket path \"%s\" is longer than %zu bytes", path, sizeof address.sun_path - 1);
		return -1;
	}
	strcpy(address.sun_path, path);
	if (!listen_unlink_stale(path, e))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		err_sys(e, "could not make a socket");
		return -1;
	}
	if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0) {
		err_sys(e, "could not listen at \"%s\"", path);
		close(fd);
		return -1;
	}
	return fd;
}

/* Log address and port of a socket. The kernel may have chosen the port. */
static void listen_log_address(int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof address;
	char text[INET6_ADDRSTRLEN] = "";

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return;
	if (address.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address;

		evutil_inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
		log_info("HTTPS at [%s]:%d", text, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&address;

		evutil_inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
		log_info("HTTPS at %s:%d", text, ntohs(in->sin_port));
	}
}

/* Parse an address such as "0.0.0.0:6820" or "[::]:6820". With port 0 the kernel chooses the port. Free the result with
 * freeaddrinfo. */
static struct addrinfo *listen_parse_address(const char *text, struct err *e)
{
	const struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	const char *colon = strrchr(text, ':');
	struct addrinfo *found = NULL;
	char *host;
	size_t length;

	if (colon) {
		host = xstrndup(text, (unsigned long)(colon - text));
		length = strlen(host);
		if (length > 1 && host[0] == '[' && host[length - 1] == ']') {
			host[length - 1] = '\0';
			memmove(host, host + 1, length - 1);
		}
		if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
			found = NULL;
		free(host);
	}
	if (!found) {
		err_set(e, "\"listen\" in section \"gate\": \"%s\" is not an address and port", text);
		err_hint(e, "Write for example 0.0.0.0:6820 or [::]:6820.");
	}
	return found;
}

int gate_listen_tcp(const char *text, struct err *e)
{
	struct addrinfo *address = listen_parse_address(text, e);
	int fd, one = 1;

	if (!address)
		return -1;
	fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
	    bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
		err_sys(e, "\"listen\" in section \"gate\": could not listen at %s", text);
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(address);
	if (fd >= 0)
		listen_log_address(fd);
	return fd;
}

struct bufferevent *gate_listen_new_buffer(struct event_base *base, SSL_CTX *tls)
{
	struct bufferevent *buffer;

	if (!tls)
		return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	buffer = bufferevent_openssl_socket_new(base, -1, SSL_new(tls), BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (buffer)
		bufferevent_openssl_set_allow_dirty_shutdown(buffer, 1);
	return buffer;
}
