/* keeper_sweep.c - nothing of a step stays behind.
 *
 * Called by the keeper's sequence and control. With a control group, whatever is in it is the step's. Without one, the keeper is
 * a subreaper: whatever a task leaves behind becomes its child, so every process of the step stands below the keeper, in
 * whichever session. What always holds: nobody is killed who is not in the group or below the keeper. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/keeper/keeper_parts.h"

enum { ROUNDS = 10, LONGEST_USEC = 60 * 1000000, PAUSE_USEC = 5000, PAUSE_LONGEST = 200000 };

struct process {
	pid_t pid, parent;
	uid_t uid;
	bool below; /* the keeper */
};

struct processes {
	struct process *list;
	int count, room;
};

static bool read_process(const char *pid, struct process *p)
{
	char path[64], text[2048];
	snprintf(path, sizeof path, "/proc/%.20s/status", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	const char *state = strstr(text, "\nState:\t"), *parent = strstr(text, "\nPPid:\t"), *uid = strstr(text, "\nUid:\t");
	if (!state || !parent || !uid || strchr("ZX", state[8]))
		return false;
	p->pid = (pid_t)atol(pid);
	p->parent = (pid_t)atol(parent + 7);
	p->uid = (uid_t)strtoul(uid + 6, NULL, 10);
	p->below = false;
	return true;
}

static void read_processes(struct processes *all)
{
	DIR *dir = opendir("/proc");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		struct process p;
		if (!isdigit((unsigned char)*entry->d_name) || !read_process(entry->d_name, &p))
			continue;
		if (all->count == all->room) {
			all->room = all->room ? 2 * all->room : 256;
			all->list = xrealloc(all->list, (unsigned long)all->room * sizeof *all->list);
		}
		all->list[all->count++] = p;
	}
	if (dir)
		closedir(dir);
}

/* Mark what stands below the keeper, generation by generation. */
static void mark_below(struct processes *all)
{
	bool more = true;
	while (more) {
		more = false;
		for (int i = 0; i < all->count; i++) {
			struct process *p = &all->list[i];
			bool below = p->parent == getpid();
			for (int j = 0; !below && j < all->count; j++)
				below = all->list[j].below && all->list[j].pid == p->parent;
			more = more || (below && !p->below);
			p->below = p->below || below;
		}
	}
}

/* Send a signal (0: only count) to what stands below the keeper, the user's only where `users`; returns how many. */
static int signal_below(const struct keeper *k, int signal, bool users)
{
	struct processes all = {NULL, 0, 0};
	int count = 0;
	read_processes(&all);
	mark_below(&all);
	for (int i = 0; i < all.count; i++) {
		const struct process *p = &all.list[i];
		if (!p->below || (users && p->uid != k->owner.uid))
			continue;
		count++;
		if (signal)
			kill(p->pid, signal);
	}
	free(all.list);
	return count;
}

/* Stop first, until nothing new turns up, so that nothing can outrun the killing by forking. */
static bool kill_below(const struct keeper *k, bool users)
{
	int before = -1, now = signal_below(k, 0, users);
	if (now == 0)
		return false;
	for (int round = 0; round < ROUNDS && now != before; round++) {
		before = now;
		now = signal_below(k, SIGSTOP, users);
	}
	signal_below(k, SIGKILL, users);
	return true;
}

void keeper_sweep_signal(const struct keeper *k, int signal)
{
	if (k->fence)
		fence_signal(k->fence, k->name, signal);
	else
		signal_below(k, signal, true);
}

void keeper_sweep_kill(const struct keeper *k)
{
	if (k->fence)
		fence_kill(k->fence, k->name);
	else
		kill_below(k, true);
}

static bool have_children(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Is there still something of the user's? It has been killed then, but may not have died yet. */
static bool left_of_user(const struct keeper *k)
{
	return k->fence ? fence_kill(k->fence, k->name) : have_children() && kill_below(k, true);
}

static bool left_at_all(const struct keeper *k)
{
	bool fenced = k->fence && fence_kill(k->fence, k->name);
	if (!have_children())
		return fenced;
	kill_below(k, false);
	return true;
}

static bool never(const struct keeper *k)
{
	(void)k;
	return false;
}

static bool sweep(struct keeper *k, bool (*left)(const struct keeper *k))
{
	int64_t deadline = record_now() + LONGEST_USEC, pause = PAUSE_USEC;
	keeper_wait(k, never, record_now()); /* reaps what has ended already */
	while (left(k)) {
		if (record_now() >= deadline)
			return false;
		keeper_wait(k, never, record_now() + pause);
		pause = pause * 2 < PAUSE_LONGEST ? pause * 2 : PAUSE_LONGEST;
	}
	return true;
}

bool keeper_sweep_user(struct keeper *k)
{
	return sweep(k, left_of_user);
}

bool keeper_sweep_all(struct keeper *k)
{
	return sweep(k, left_at_all);
}
