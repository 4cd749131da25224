/* substep_store.c - a store of open descriptors, which outlives the step manager.
 *
 * Called by: substep_task.c for each spool, substep_recovery.c after a death.
 * Invariants:
 * - The store is a socket pair. A descriptor that was sent and not received is open as long as the socket. The keeper holds the
 *   socket and reads nothing from it.
 * - The kernel bounds the store: a few hundred descriptors. A spool that finds no place is lost with the step manager, as are
 *   those of tasks that end while it is dead. */
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
	char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_spool(const struct substep_stored *stored, int fd)
{
	union control control;
	struct iovec text = {(void *)stored, sizeof *stored};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	memset(&control, 0, sizeof control);
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	return sendmsg(in, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *stored;
}

/* Receive one spool. Returns its descriptor, -1 if it has none, -2 if the store is empty. */
static int receive_spool(struct substep_stored *stored)
{
	union control control;
	struct iovec text = {stored, sizeof *stored};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	int fd = -1;
	if (recvmsg(out, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *stored)
		return -2;
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(head), sizeof fd);
	return fd;
}

struct kept {
	struct substep_stored stored;
	int fd;
};

void substep_store_take(bool (*take)(const struct substep_stored *stored, int fd, void *arg), void *arg)
{
	struct kept *list = NULL;
	int count = 0, fd;
	struct substep_stored stored;
	while ((fd = receive_spool(&stored)) >= -1) {
		if (fd < 0)
			continue;
		list = xrealloc(list, (unsigned long)(count + 1) * sizeof *list);
		list[count++] = (struct kept){stored, fd};
	}
	/* Nothing is sent before all is received, or the loop above would not end. */
	for (int i = 0; i < count; i++) {
		int copy = dup(list[i].fd);
		if (take(&list[i].stored, list[i].fd, arg) && copy >= 0)
			send_spool(&list[i].stored, copy);
		if (copy >= 0)
			close(copy);
	}
	free(list);
	put_count = 0;
}

struct need {
	bool (*is_needed)(const struct substep_stored *stored, void *arg);
	void *arg;
};

static bool take_out(const struct substep_stored *stored, int fd, void *arg)
{
	const struct need *need = arg;
	close(fd);
	return need->is_needed(stored, need->arg);
}

void substep_store_put(const struct substep_stored *stored, int fd,
		       bool (*is_needed)(const struct substep_stored *stored, void *arg), void *arg)
{
	struct need need = {is_needed, arg};
	if (in < 0)
		return;
	if (++put_count > TRIM_AT)
		substep_store_take(take_out, &need);
	if (send_spool(stored, fd))
		return;
	substep_store_take(take_out, &need);
	send_spool(stored, fd);
}
