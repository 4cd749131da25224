/* keeper_next.c - a keeper whose attempt is over gets another one.
 *
 * Called by the keeper's sequence. Forking a keeper, and its end, cost more than all that it does for a short step. What always holds: a
 * keeper that is free has written everything, has no child and nothing of the attempt before, and its folder stands in spare/; it holds
 * the lock of its pid file all the while, so a folder that the launcher has moved back is an attempt with a keeper; when that launcher
 * is no more it ends, so an attempt whose order did not reach it is ended like any that has no keeper. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

/* What came too late for the attempt: the socket's name is gone, so nothing more can come. */
static void forget_messages(int ctl)
{
	char byte;
	while (recv(ctl, &byte, sizeof byte, MSG_DONTWAIT) >= 0 || errno == EINTR)
		continue;
}

bool keeper_next_offer(const struct keeper *k)
{
	char from[RECORD_KEY_SIZE + 16], to[RECORD_KEY_SIZE + 16];
	struct keeper_spare spare;
	if (getppid() != k->job->launcher)
		return false;
	crash_point(CRASH_keeper_unlocked);
	snprintf(from, sizeof from, "spool/%s", k->name);
	snprintf(to, sizeof to, "spare/%s", k->name);
	if (rename(from, to) < 0)
		return false;
	forget_messages(k->job->ctl);
	memset(&spare, 0, sizeof spare);
	spare.pid = getpid();
	spare.key = k->key;
	if (send(k->job->spare, &spare, sizeof spare, MSG_NOSIGNAL) != (ssize_t)sizeof spare)
		_exit(0); /* the launcher is no more; the next one removes the folder */
	return true;
}

/* The message with the next order; -1: there is no launcher any more, nor anything from it. */
static ssize_t receive(const struct keeper_job *job, char *text, size_t size)
{
	struct pollfd fds[] = {{.fd = job->ctl, .events = POLLIN}, {.fd = job->spare}};
	for (;;) {
		bool gone = poll(fds, 2, -1) > 0 && fds[1].revents;
		ssize_t got = recv(job->ctl, text, size, MSG_DONTWAIT);
		if (got >= 0 || gone)
			return got;
	}
}

/* The launcher has checked the order; what it sends comes from root, or from ourselves, alone. */
static bool read_order(struct keeper_job *job, struct order *order, const struct fields *message, struct err *e)
{
	const char *text = fields_get(message, "order"), *cores = fields_get(message, "cores"),
		   *node = fields_get(message, "node");
	int64_t step;
	if (!text || !cores || !node || !fields_int(message, "step", 0, INT_MAX, &step, e))
		return err_set(e, "no order came");
	if (!order_parse(text, strlen(text), order, e))
		return false;
	if (!order_pick(order, (int)step) || !order_pick_node(order, node)) {
		order_free(order);
		return err_set(e, "the order is not for step %lld on node \"%s\"", (long long)step, node);
	}
	free((char *)job->cores);
	job->order = order;
	job->cores = *cores ? xstrdup(cores) : NULL;
	return true;
}

bool keeper_next_take(struct keeper_job *job, struct order *order)
{
	struct err e;
	static char text[KEEPER_ORDER_LARGEST];
	if (job->order == order)
		order_free(order);
	ssize_t size = receive(job, text, sizeof text);
	struct fields *message = size < 0 ? NULL : fields_parse(text, (size_t)size, &e);
	bool taken = message && read_order(job, order, message, &e);
	if (size >= 0 && !taken)
		log_error("a keeper did not understand its order: %s", e.message);
	fields_free(message);
	return taken;
}
