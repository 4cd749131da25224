/* below.c - find processes by their descent in /proc, and kill them.
 *
 * A keeper calls it for what stands below itself, to signal and to measure it, the launcher for what a dead keeper has left. What always
 * holds: nobody is signalled who is neither a root nor below one. */
#include "procmgr/keeper/below.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"

enum { ROUNDS = 10 };

struct entry {
	struct below_process process;
	bool chosen;
};

struct entries {
	struct entry *list;
	int count, room;
};

/* The kB behind `name`, which begins with a newline; 0 where it is not there: the process has no memory of its own. */
static int64_t kilobytes(const char *status, const char *name)
{
	const char *at = strstr(status, name);
	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static bool read_process(const char *pid, struct below_process *p)
{
	char path[64], text[8192];
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
	p->resident_kb = kilobytes(uid, "\nRssAnon:") + kilobytes(uid, "\nRssShmem:");
	return true;
}

static void read_processes(struct entries *all, below_root *root, void *arg)
{
	DIR *dir = opendir("/proc");
	for (struct dirent *name; dir && (name = readdir(dir));) {
		struct entry e;
		if (!isdigit((unsigned char)*name->d_name) || !read_process(name->d_name, &e.process) ||
		    e.process.pid == getpid())
			continue;
		e.chosen = root(&e.process, arg);
		if (all->count == all->room) {
			all->room = all->room ? 2 * all->room : 256;
			all->list = xrealloc(all->list, (unsigned long)all->room * sizeof *all->list);
		}
		all->list[all->count++] = e;
	}
	if (dir)
		closedir(dir);
}

/* Choose what stands below the chosen, generation by generation. */
static void choose_below(struct entries *all)
{
	bool more = true;
	while (more) {
		more = false;
		for (int i = 0; i < all->count; i++) {
			struct entry *e = &all->list[i];
			for (int j = 0; !e->chosen && j < all->count; j++)
				if (all->list[j].chosen && all->list[j].process.pid == e->process.parent)
					more = e->chosen = true;
		}
	}
}

void below_each(below_root *root, void *arg, uid_t only, void (*each)(const struct below_process *p, void *sum), void *sum)
{
	struct entries all = {NULL, 0, 0};
	read_processes(&all, root, arg);
	choose_below(&all);
	for (int i = 0; i < all.count; i++) {
		const struct entry *e = &all.list[i];
		if (e->chosen && (only == BELOW_ANYBODY || e->process.uid == only))
			each(&e->process, sum);
	}
	free(all.list);
}

struct signalled {
	int signal, count;
};

static void send_signal(const struct below_process *p, void *arg)
{
	struct signalled *s = arg;
	s->count++;
	if (s->signal)
		kill(p->pid, s->signal);
}

int below_signal(below_root *root, void *arg, uid_t only, int signal)
{
	struct signalled s = {signal, 0};
	below_each(root, arg, only, send_signal, &s);
	return s.count;
}

/* Stop first, until nothing new turns up. */
bool below_kill(below_root *root, void *arg, uid_t only)
{
	int before = -1, now = below_signal(root, arg, only, 0);
	if (now == 0)
		return false;
	for (int round = 0; round < ROUNDS && now != before; round++) {
		before = now;
		now = below_signal(root, arg, only, SIGSTOP);
	}
	below_signal(root, arg, only, SIGKILL);
	return true;
}
