/* substep_store.c - a store of open descriptors, which outlives the step manager.
 *
 * Called by: substep_drain.c for the pipes of each task and for each spool, substep_recovery.c after a death.
 * Invariants:
 * - The store is a socket pair. Descriptors that were sent and not received are open as long as the socket. The keeper holds the
 *   socket and reads nothing from it.
 * - The kernel bounds the store: a few hundred messages. A spool that finds no place is lost with the step manager. So are pipes, and what
 *   their task writes from then on. */
#include "procmgr/stepmgr/substep_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRIM_AT = 128 };

static int in = -1, out = -1;
static int put_count; /* since what is not needed was last taken out */

void substep_store_open(int sends, int receives)
{
	in = sends;
	out = receives;
}

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

static bool send_files(const struct substep_stored *stored, const int fds[2])
{
	union control control;
	size_t size = (fds[1] >= 0 ? 2 : 1) * sizeof *fds;
	struct iovec text = {(void *)stored, sizeof *stored};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
	memset(&control, 0, sizeof control);
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.head), fds, size);
	return sendmsg(in, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *stored;
}

/* Receive one message; fds[0] is -1 if it has no descriptors. Returns false if the store is empty. */
static bool receive_files(struct substep_stored *stored, int fds[2])
{
	union control control;
	struct iovec text = {stored, sizeof *stored};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	fds[0] = fds[1] = -1;
	if (recvmsg(out, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *stored)
		return false;
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len <= CMSG_LEN(2 * sizeof *fds))
		memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
	return true;
}

static void close_files(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

struct kept {
	struct substep_stored stored;
	int fds[2];
};

void substep_store_take(bool (*take)(const struct substep_stored *stored, const int fds[2], void *arg), void *arg)
{
	struct kept *list = NULL, kept;
	int count = 0;
	while (receive_files(&kept.stored, kept.fds)) {
		if (kept.fds[0] < 0)
			continue;
		list = xrealloc(list, (unsigned long)(count + 1) * sizeof *list);
		list[count++] = kept;
	}
	/* Nothing is sent before all is received, or the loop above would not end. */
	for (int i = 0; i < count; i++) {
		int copies[] = {dup(list[i].fds[0]), list[i].fds[1] < 0 ? -1 : dup(list[i].fds[1])};
		if (take(&list[i].stored, list[i].fds, arg) && copies[0] >= 0)
			send_files(&list[i].stored, copies);
		close_files(copies);
	}
	free(list);
	put_count = 0;
}

struct need {
	bool (*is_needed)(const struct substep_stored *stored, void *arg);
	void *arg;
};

static bool take_out(const struct substep_stored *stored, const int fds[2], void *arg)
{
	const struct need *need = arg;
	close_files(fds);
	return need->is_needed(stored, need->arg);
}

void substep_store_put(const struct substep_stored *stored, const int fds[2],
		       bool (*is_needed)(const struct substep_stored *stored, void *arg), void *arg)
{
	struct need need = {is_needed, arg};
	if (in < 0)
		return;
	if (++put_count > TRIM_AT)
		substep_store_take(take_out, &need);
	if (send_files(stored, fds))
		return;
	substep_store_take(take_out, &need);
	send_files(stored, fds);
}
