/* keeper_next.c - gives an idle keeper its next attempt. To fork and end a keeper costs more than all of its work for a short
 * step.
 *
 * Called by: keeper.c.
 * Invariants:
 * - An idle keeper has written all records and has no child. No process of the last attempt is left, and the keeper's folder is
 *   in spare/.
 * - An idle keeper keeps the lock of its pid file. So a folder that the launcher has moved back to spool/ belongs to an attempt
 *   with a keeper.
 * - An idle keeper ends when its launcher has ended. An attempt whose launch request did not reach the keeper is then recovered
 *   like any attempt without a keeper. */
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

/* Drop control messages that came too late for the ended attempt. The socket has been moved away with its folder, so no more can
 * come. */
static void drop_messages(int ctl)
{
	char byte;
	while (recv(ctl, &byte, sizeof byte, MSG_DONTWAIT) >= 0 || errno == EINTR)
		continue;
}

bool keeper_next_offer(const struct keeper *k)
{
	char from[RECORD_KEY_SIZE + 16], to[RECORD_KEY_SIZE + 16];
	struct keeper_idle idle;
	if (getppid() != k->job->launcher)
		return false;
	crash_point(CRASH_keeper_unlocked);
	snprintf(from, sizeof from, "spool/%s", k->name);
	snprintf(to, sizeof to, "spare/%s", k->name);
	if (rename(from, to) < 0)
		return false;
	drop_messages(k->job->ctl);
	memset(&idle, 0, sizeof idle);
	idle.pid = getpid();
	idle.key = k->key;
	if (send(k->job->idle, &idle, sizeof idle, MSG_NOSIGNAL) != (ssize_t)sizeof idle)
		_exit(0); /* the launcher has ended; the next launcher removes the folder */
	return true;
}

/* Receive the next launch request. Returns its size, or -1 if the launcher has ended without sending one. */
static ssize_t receive_order(const struct keeper_job *job, char *text, size_t size)
{
	struct pollfd fds[] = {{.fd = job->ctl, .events = POLLIN}, {.fd = job->idle}};
	for (;;) {
		bool gone = poll(fds, 2, -1) > 0 && fds[1].revents;
		ssize_t got = recv(job->ctl, text, size, MSG_DONTWAIT);
		if (got >= 0 || gone)
			return got;
	}
}

/* Read a launch request without its signature: the launcher has verified it, and only root or this account can send to the
 * socket. */
static bool read_order(struct keeper_job *job, struct order *order, const struct fields *message, struct err *e)
{
	const char *text = fields_get(message, "order"), *cores = fields_get(message, "cores"),
		   *node = fields_get(message, "node");
	int64_t step;
	if (!text || !cores || !node || !fields_int(message, "step", 0, INT_MAX, &step, e))
		return err_set(e, "the message has no launch request");
	if (!order_parse(text, strlen(text), order, e))
		return false;
	if (!order_pick(order, (int)step) || !order_pick_node(order, node)) {
		order_free(order);
		return err_set(e, "the launch request is not for step %lld on node \"%s\"", (long long)step, node);
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
	ssize_t size = receive_order(job, text, sizeof text);
	struct fields *message = size < 0 ? NULL : fields_parse(text, (size_t)size, &e);
	bool taken = message && read_order(job, order, message, &e);
	if (size >= 0 && !taken)
		log_error("an idle keeper ends: it could not read its launch request: %s", e.message);
	fields_free(message);
	return taken;
}
