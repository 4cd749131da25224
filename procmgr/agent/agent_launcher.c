/* agent_launcher.c - procmgrd's end of the socket pair. What became of a launch is in the journal; a control message is answered here.
 * What always holds: messages arrive in the order in which they were sent; when the launcher is gone, so are we. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/agent/agent_parts.h"

enum { MESSAGE_LARGEST = 128 * 1024, ANSWER_LARGEST = 1024 };

struct agent_message {
	struct agent_message *next;
	size_t size;
	char text[];
};

static void answered(struct agent *a, const char *text, size_t size)
{
	struct err e;
	int64_t id, taken;
	struct fields *answer = fields_parse(text, size, &e);
	if (answer && fields_int(answer, "id", 1, INT64_MAX, &id, &e) && fields_int(answer, "taken", 0, 1, &taken, &e))
		agent_order_taken(a, id, taken);
	else
		log_warning("answer of the launcher ignored: %s", e.message);
	fields_free(answer);
}

static void hear(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct agent *a = arg;
	char text[ANSWER_LARGEST];
	ssize_t size;
	while ((size = recv(fd, text, sizeof text, MSG_DONTWAIT)) > 0)
		answered(a, text, (size_t)size);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	log_info("the launcher is gone");
	event_base_loopbreak(a->base);
}

static void flush(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct agent *a = arg;
	while (a->messages) {
		struct agent_message *m = a->messages;
		if (send(fd, m->text, m->size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno == EAGAIN || errno == EINTR)
				event_add(a->launcher_writable, NULL);
			return; /* anything else is the launcher's end, of which we hear by reading */
		}
		a->messages = m->next;
		if (!a->messages)
			a->messages_end = &a->messages;
		free(m);
	}
}

bool agent_launcher_open(struct agent *a, int fd, struct err *e)
{
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_sys(e, "descriptor %d is not the launcher's", fd);
	a->launcher_fd = fd;
	a->messages_end = &a->messages;
	a->launcher_readable = event_new(a->base, fd, EV_READ | EV_PERSIST, hear, a);
	a->launcher_writable = event_new(a->base, fd, EV_WRITE, flush, a);
	event_add(a->launcher_readable, NULL);
	return true;
}

void agent_launcher_close(struct agent *a)
{
	for (struct agent_message *m = a->messages, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	a->messages = NULL;
	if (a->launcher_readable)
		event_free(a->launcher_readable);
	if (a->launcher_writable)
		event_free(a->launcher_writable);
}

void agent_launcher_send(struct agent *a, const struct fields *message)
{
	size_t size;
	const char *text = fields_text(message, &size);
	if (size > MESSAGE_LARGEST) {
		log_error("a message of %zu bytes is too long for the launcher", size);
		return;
	}
	struct agent_message *m = xmalloc(sizeof *m + size);
	m->next = NULL;
	m->size = size;
	memcpy(m->text, text, size);
	*a->messages_end = m;
	a->messages_end = &m->next;
	if (a->messages == m)
		flush(a->launcher_fd, 0, a);
}
