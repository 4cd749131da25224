/* gate_lookup.c - a thread for each lookup of a host name, since getaddrinfo() blocks (gate_lookup.h).
 *
 * Called by: gate_relay.c, which bounds the number of lookups under way.
 * Invariants:
 * - The thread stores its result before it writes to the eventfd, and touches no shared memory afterwards. */
#include "jobmgr/gate/gate_lookup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/err.h"

struct gate_lookup {
	char *host, port[16];
	int code;
	struct addrinfo *found;
	int wake; /* eventfd by which the thread reports that the result is stored */
	struct event *event;
	gate_lookup_answer *answer;
	void *arg;
};

static void lookup_free(struct gate_lookup *l)
{
	event_free(l->event);
	close(l->wake);
	if (l->found)
		freeaddrinfo(l->found);
	free(l->host);
	free(l);
}

static void lookup_read(struct gate_lookup *l, int flags)
{
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};

	l->code = getaddrinfo(l->host, l->port, &want, &l->found);
	if (l->code)
		l->found = NULL;
}

static void lookup_wake(const struct gate_lookup *l)
{
	uint64_t one = 1;

	if (write(l->wake, &one, sizeof one) != sizeof one)
		die("could not write to an eventfd: %s", strerrorname_np(errno));
}

static void *lookup_run(void *arg)
{
	struct gate_lookup *l = arg;

	lookup_read(l, 0);
	lookup_wake(l);
	return NULL;
}

static void lookup_deliver(evutil_socket_t fd, short what, void *arg)
{
	struct gate_lookup *l = arg;

	(void)fd;
	(void)what;
	l->answer(l->code, l->found, l->arg);
	lookup_free(l);
}

/* Start a thread that nobody joins. The event loop handles signals, so the thread blocks them. */
static bool lookup_start_thread(struct gate_lookup *l)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&thread, NULL, lookup_run, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		pthread_detach(thread);
	return !error;
}

struct gate_lookup *gate_lookup_start(struct event_base *base, const char *host, int port, gate_lookup_answer *answer, void *arg)
{
	struct gate_lookup *l;
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (wake < 0)
		return NULL;
	l = xcalloc(1, sizeof *l);
	*l = (struct gate_lookup){.host = xstrdup(host), .wake = wake, .answer = answer, .arg = arg};
	snprintf(l->port, sizeof l->port, "%d", port);
	l->event = event_new(base, wake, EV_READ, lookup_deliver, l);
	event_add(l->event, NULL);
	lookup_read(l, AI_NUMERICHOST);
	if (!l->code) {
		lookup_wake(l);
	} else if (!lookup_start_thread(l)) {
		lookup_free(l);
		l = NULL;
	}
	return l;
}

void gate_lookup_drop(struct gate_lookup *l)
{
	event_del(
		l->event); /* the thread may hang in the name service: leave its memory allocated, because the process ends now */
}
