/* agent_launcher.c - sends messages to the launcher over the socket pair, and reads its answers.
 *
 * Called by: agent_order_message.c, agent_blob.c and agent_report.c to send; agent.c at start and end.
 * Invariants:
 * - Messages arrive in the order in which they were sent.
 * - The result of a launch is in the journal. The launcher answers only control messages on the socket.
 * - The event loop ends when the launcher has closed its end. */
#include "procmgr/agent/agent_launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/log.h"

enum { MESSAGE_LARGEST = 128 * 1024, ANSWER_LARGEST = 1024 };

struct message {
	struct message *next;
	size_t size;
	char text[];
};

struct agent_launcher {
	struct event_base *base;
	int fd;
	struct event *readable, *writable;
	struct message *first, **end; /* messages that are not sent yet */
	agent_launcher_answer *answer;
	void *arg;
};

static void handle_answer(struct agent_launcher *l, const char *text, size_t size)
{
	struct err e;
	int64_t id, taken;
	struct fields *answer = fields_parse(text, size, &e);
	if (answer && fields_int(answer, "id", 1, INT64_MAX, &id, &e) && fields_int(answer, "taken", 0, 1, &taken, &e))
		l->answer(id, taken, l->arg);
	else
		log_warning("ignored an answer of the launcher: %s", e.message);
	fields_free(answer);
}

static void read_answers(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct agent_launcher *l = arg;
	char text[ANSWER_LARGEST];
	ssize_t size;
	while ((size = recv(fd, text, sizeof text, MSG_DONTWAIT)) > 0)
		handle_answer(l, text, (size_t)size);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	log_info("the launcher has ended; procmgrd ends too");
	event_base_loopbreak(l->base);
}

static void send_queued(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct agent_launcher *l = arg;
	while (l->first) {
		struct message *m = l->first;
		if (send(fd, m->text, m->size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno == EAGAIN || errno == EINTR)
				event_add(l->writable, NULL);
			return; /* after any other error, read_answers sees that the launcher has ended */
		}
		l->first = m->next;
		if (!l->first)
			l->end = &l->first;
		free(m);
	}
}

struct agent_launcher *agent_launcher_new(struct event_base *base, int fd, agent_launcher_answer *answer, void *arg,
					  struct err *e)
{
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
		err_sys(e, "descriptor %d is not a socket of rota-launcher, which starts procmgrd", fd);
		return NULL;
	}
	struct agent_launcher *l = xcalloc(1, sizeof *l);
	l->base = base;
	l->fd = fd;
	l->end = &l->first;
	l->answer = answer;
	l->arg = arg;
	l->readable = event_new(base, fd, EV_READ | EV_PERSIST, read_answers, l);
	l->writable = event_new(base, fd, EV_WRITE, send_queued, l);
	event_add(l->readable, NULL);
	return l;
}

void agent_launcher_free(struct agent_launcher *l)
{
	if (!l)
		return;
	for (struct message *m = l->first, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	event_free(l->readable);
	event_free(l->writable);
	free(l);
}

void agent_launcher_send(struct agent_launcher *l, const struct fields *message)
{
	size_t size;
	const char *text = fields_text(message, &size);
	if (size > MESSAGE_LARGEST) {
		log_error("a message to the launcher has %zu bytes, at most %d are "
			  "allowed; it is not sent",
			  size, MESSAGE_LARGEST);
		return;
	}
	struct message *m = xmalloc(sizeof *m + size);
	m->next = NULL;
	m->size = size;
	memcpy(m->text, text, size);
	*l->end = m;
	l->end = &m->next;
	if (l->first == m)
		send_queued(l->fd, 0, l);
}
