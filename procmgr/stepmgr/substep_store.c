/* substep_store.c - a store of open descriptors, which outlives the step manager.
 *
 * Called by: substep_drain.c for each task, and again for each spool; substep_recovery.c after a death.
 * Invariants:
 * - The store is a socket pair. Descriptors that were sent and not received are open as long as the socket. The keeper holds the
 *   socket and reads nothing from it.
 * - The last message on a task has all files of the task; earlier messages on it are not needed any more.
 * - The kernel bounds the store to a few hundred messages. If files find no place in the store and the step manager dies, they
 *   are lost, and so is all later output of their task. */
#include "procmgr/stepmgr/substep_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRIM_AT = 128 };

static int in = -1, out = -1;
static int put_count; /* number of messages put into the store since unneeded ones were last taken out */

void substep_store_open(int sends, int receives)
{
	in = sends;
	out = receives;
}

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(SUBSTEP_STORED_MOST * sizeof(int))];
};

static bool has_file(const struct substep_stored *stored, int file)
{
	return stored->files & (1 << file);
}

static bool send_files(const struct substep_stored *stored, const int fds[SUBSTEP_STORED_MOST])
{
	union control control;
	int sent[SUBSTEP_STORED_MOST], count = 0;
	for (int i = 0; i < SUBSTEP_STORED_MOST; i++)
		if (has_file(stored, i))
			sent[count++] = fds[i];
	size_t size = (size_t)count * sizeof *sent;
	struct iovec text = {(void *)stored, sizeof *stored};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
	memset(&control, 0, sizeof control);
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.head), sent, size);
	return sendmsg(in, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *stored;
}

/* Receive one message of the store. Returns false if the store is empty. */
static bool receive_files(struct substep_stored *stored, int fds[SUBSTEP_STORED_MOST])
{
	union control control;
	int received[SUBSTEP_STORED_MOST], count = 0, next = 0;
	struct iovec text = {stored, sizeof *stored};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	if (recvmsg(out, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *stored)
		return false;
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len <= CMSG_LEN(sizeof received)) {
		count = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof *received);
		memcpy(received, CMSG_DATA(head), (size_t)count * sizeof *received);
	}
	for (int i = 0; i < SUBSTEP_STORED_MOST; i++)
		fds[i] = has_file(stored, i) && next < count ? received[next++] : -1;
	while (next < count)
		close(received[next++]);
	return true;
}

static void close_files(const int fds[SUBSTEP_STORED_MOST])
{
	for (int i = 0; i < SUBSTEP_STORED_MOST; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

struct kept {
	struct substep_stored stored;
	int fds[SUBSTEP_STORED_MOST];
};

/* Copy the descriptors of a stored message. Returns false if one is missing. */
static bool copy_files(const struct kept *kept, int copies[SUBSTEP_STORED_MOST])
{
	bool good = true;
	for (int i = 0; i < SUBSTEP_STORED_MOST; i++) {
		copies[i] = kept->fds[i] < 0 ? -1 : dup(kept->fds[i]);
		good = good && (copies[i] >= 0 || !has_file(&kept->stored, i));
	}
	return good;
}

void substep_store_take(bool (*take)(const struct substep_stored *stored, const int fds[SUBSTEP_STORED_MOST], void *arg),
			void *arg)
{
	struct kept *list = NULL, kept;
	int count = 0, copies[SUBSTEP_STORED_MOST];
	while (receive_files(&kept.stored, kept.fds)) {
		list = xrealloc(list, (unsigned long)(count + 1) * sizeof *list);
		list[count++] = kept;
	}
	/* Nothing is sent before all is received, or the loop above would not end. */
	for (int i = 0; i < count; i++) {
		bool copied = copy_files(&list[i], copies);
		if (take(&list[i].stored, list[i].fds, arg) && copied)
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

static bool take_out(const struct substep_stored *stored, const int fds[SUBSTEP_STORED_MOST], void *arg)
{
	const struct need *need = arg;
	close_files(fds);
	return need->is_needed(stored, need->arg);
}

void substep_store_put(const struct substep_stored *stored, const int fds[SUBSTEP_STORED_MOST],
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
