/* steps_link.c - the byte stream to a step manager (steps_link.h).
 *
 * Called by: steps_connection.c, rota_steps.c.
 * Invariants:
 * - Reading and writing never block.
 * - Programs of users link this library: it raises no signal (SIGPIPE), and prints nothing. */
#include "lib/steps_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_SIZE = 256 << 10, ERROR_SIZE = 512 };

int (*steps_link_connect_remote)(const char *path, char *error, size_t size);

static _Thread_local char link_error[ERROR_SIZE];

const char *steps_link_error(void)
{
	return link_error;
}

void *steps_alloc(void *old, size_t size)
{
	void *memory = realloc(old, size);

	if (!memory)
		abort();
	return memory;
}

char *steps_copy(const char *text)
{
	return strcpy(steps_alloc(NULL, strlen(text) + 1), text);
}

/* Make the address of a socket. A path that is too long for it leads through the open folder *folder. */
static bool link_address(const char *path, struct sockaddr_un *address, int *folder)
{
	const char *name = strrchr(path, '/');
	char *parent;

	address->sun_family = AF_UNIX;
	if (strlen(path) < sizeof(address->sun_path)) {
		strcpy(address->sun_path, path);
		return true;
	}
	if (!name) {
		errno = ENAMETOOLONG;
		return false;
	}
	parent = steps_copy(path);
	parent[name - path + 1] = '\0';
	*folder = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(parent);
	if (*folder < 0)
		return false;
	if ((size_t)snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d%s", *folder, name) >=
	    sizeof(address->sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	return true;
}

static int link_connect_local(const char *path)
{
	struct sockaddr_un address = {0};
	int folder = -1, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -1;
	if (!link_address(path, &address, &folder) || connect(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    fcntl(fd, F_SETFL, O_NONBLOCK)) {
		error = errno;
		close(fd);
		fd = -1;
		errno = error;
	}
	error = errno;
	if (folder >= 0)
		close(folder);
	errno = error;
	return fd;
}

int steps_link_connect(const char *path)
{
	bool is_remote = !strncmp(path, STEPS_LINK_REMOTE, sizeof(STEPS_LINK_REMOTE) - 1);
	int fd = -1;

	if (is_remote && steps_link_connect_remote)
		return steps_link_connect_remote(path, link_error, sizeof(link_error));
	if (!is_remote)
		fd = link_connect_local(path);
	if (fd < 0)
		snprintf(link_error, sizeof(link_error), "%s",
			 is_remote ? "this program cannot connect to other machines" : strerror(errno));
	return fd;
}

void steps_link_close(struct steps_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	link->in.from = link->in.to = 0;
	link->out.from = link->out.to = 0;
}

/* Make room for `size` more bytes at the end of a buffer. */
static void buffer_reserve(struct steps_buffer *b, size_t size)
{
	if (b->from) {
		memmove(b->bytes, b->bytes + b->from, b->to - b->from);
		b->to -= b->from;
		b->from = 0;
	}
	if (b->room - b->to >= size)
		return;
	b->room = b->room * 2 > b->to + size ? b->room * 2 : b->to + size;
	b->bytes = steps_alloc(b->bytes, b->room);
}

void steps_link_add(struct steps_link *link, const void *bytes, size_t size)
{
	if (link->out.room - link->out.to < size)
		buffer_reserve(&link->out, size);
	memcpy(link->out.bytes + link->out.to, bytes, size);
	link->out.to += size;
}

bool steps_link_write(struct steps_link *link)
{
	struct steps_buffer *b = &link->out;

	while (b->from < b->to) {
		ssize_t size = send(link->fd, b->bytes + b->from, b->to - b->from, MSG_NOSIGNAL);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return errno == EAGAIN;
		b->from += (size_t)size;
	}
	b->from = b->to = 0;
	return true;
}

bool steps_link_read(struct steps_link *link)
{
	ssize_t size;

	buffer_reserve(&link->in, READ_SIZE);
	do
		size = recv(link->fd, link->in.bytes + link->in.to, link->in.room - link->in.to, 0);
	while (size < 0 && errno == EINTR);
	if (size > 0)
		link->in.to += (size_t)size;
	return size > 0 || (size < 0 && errno == EAGAIN);
}

enum steps_took steps_link_take(struct steps_link *link, json_t **message, const char **bytes, size_t *size)
{
	struct steps_buffer *b = &link->in;
	char *line = b->bytes + b->from, *end = b->to > b->from ? memchr(line, '\n', b->to - b->from) : NULL;
	const json_t *follow;

	if (!end)
		return b->to - b->from > STEPS_MESSAGE_MOST ? STEPS_BROKEN : STEPS_NONE;
	*message = json_loadb(line, (size_t)(end - line), 0, NULL);
	follow = json_object_get(*message, "bytes");
	*size = json_is_integer(follow) ? (size_t)json_integer_value(follow) : 0;
	*bytes = end + 1;
	if (!json_is_object(*message) || *size > STEPS_BYTES_MOST) {
		json_decref(*message);
		return STEPS_BROKEN;
	}
	if ((size_t)(b->bytes + b->to - *bytes) < *size) {
		json_decref(*message);
		return STEPS_NONE;
	}
	b->from += (size_t)(end + 1 - line) + *size;
	return STEPS_MESSAGE;
}
