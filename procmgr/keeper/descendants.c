/* descendants.c - finds the descendants of processes in /proc, and signals them.
 *
 * Called by: a keeper for its own descendants, to signal and to measure them; the launcher for processes that a dead keeper has
 * left.
 * Invariants: only roots and their descendants are signalled, also if a process ends meanwhile and its number is used again. */
#include "procmgr/keeper/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/proc_file.h"
#include "procmgr/keeper/handles.h"

enum { ROUNDS = 10 };

struct listed_process {
	struct descendants_process process;
	bool chosen;
};

struct process_list {
	struct listed_process *list;
	int count, capacity;
};

/* Read a number in kB from the text of /proc/PID/status. Returns 0 if the line is missing, as for a kernel thread. */
static int64_t kilobytes(const char *status, const char *word)
{
	int64_t kb = proc_file_number(status, word);
	return kb < 0 ? 0 : kb;
}

static bool has_ended(const char *status)
{
	const char *state = proc_file_field(status, "State:");
	return !state || strchr("ZX", *state);
}

/* Open the folder that has a folder for each thread of the process. */
static DIR *open_threads(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
	return opendir(path);
}

/* Find a thread of the process that has not ended, and read its status. Returns 0 if there is none. */
static pid_t find_thread(pid_t pid, char *status, size_t size)
{
	pid_t found = 0;
	DIR *dir = open_threads(pid);
	for (struct dirent *name; dir && found == 0 && (name = readdir(dir));)
		if (isdigit((unsigned char)*name->d_name) && proc_file_read((pid_t)atol(name->d_name), "status", status, size) &&
		    !has_ended(status))
			found = (pid_t)atol(name->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/* A process whose first thread has ended lives as long as it has others. */
static bool read_process(pid_t pid, struct descendants_process *p)
{
	char text[8192];
	proc_file_read(pid, "status", text, sizeof text);
	p->thread = pid;
	if (has_ended(text) &&
	    (proc_file_number(text, "Threads:") <= 1 || (p->thread = find_thread(pid, text, sizeof text)) == 0))
		return false;
	const char *uid = proc_file_field(text, "Uid:");
	int64_t parent = proc_file_number(text, "PPid:");
	if (parent < 0 || !uid)
		return false;
	p->pid = pid;
	p->parent = (pid_t)parent;
	p->uid = (uid_t)strtoul(uid, NULL, 10);
	p->resident_kb = kilobytes(uid, "RssAnon:") + kilobytes(uid, "RssShmem:");
	return true;
}

static void read_processes(struct process_list *all, descendants_root *root, void *arg)
{
	DIR *dir = opendir("/proc");
	for (struct dirent *name; dir && (name = readdir(dir));) {
		struct listed_process e;
		if (!isdigit((unsigned char)*name->d_name) || !read_process((pid_t)atol(name->d_name), &e.process) ||
		    e.process.pid == getpid())
			continue;
		e.chosen = root(&e.process, arg);
		if (all->count == all->capacity) {
			all->capacity = all->capacity ? 2 * all->capacity : 256;
			all->list = xrealloc(all->list, (unsigned long)all->capacity * sizeof *all->list);
		}
		all->list[all->count++] = e;
	}
	if (dir)
		closedir(dir);
}

/* Mark the children of chosen processes as chosen, generation by generation. */
static void choose_descendants(struct process_list *all)
{
	bool more = true;
	while (more) {
		more = false;
		for (int i = 0; i < all->count; i++) {
			struct listed_process *e = &all->list[i];
			for (int j = 0; !e->chosen && j < all->count; j++)
				if (all->list[j].chosen && all->list[j].process.pid == e->process.parent)
					more = e->chosen = true;
		}
	}
}

bool descendants_is_child(const struct descendants_process *p, void *arg)
{
	(void)arg;
	return p->parent == getpid();
}

void descendants_each(descendants_root *root, void *arg, uid_t only, void (*each)(const struct descendants_process *p, void *sum),
		      void *sum)
{
	struct process_list all = {NULL, 0, 0};
	read_processes(&all, root, arg);
	choose_descendants(&all);
	for (int i = 0; i < all.count; i++) {
		const struct listed_process *e = &all.list[i];
		if (e->chosen && (only == DESCENDANTS_OF_ANY_USER || e->process.uid == only))
			each(&e->process, sum);
	}
	free(all.list);
}

struct thread_search {
	bool (*is_it)(pid_t thread, const void *data);
	const void *data;
	bool found;
};

static void search_threads(const struct descendants_process *p, void *arg)
{
	struct thread_search *search = arg;
	if (search->found)
		return;
	DIR *dir = open_threads(p->pid);
	search->found = !dir && errno != ENOENT && errno != ESRCH; /* nobody knows what the threads are */
	for (struct dirent *name; dir && !search->found && (name = readdir(dir));)
		search->found = isdigit((unsigned char)*name->d_name) && search->is_it((pid_t)atol(name->d_name), search->data);
	if (dir)
		closedir(dir);
}

bool descendants_have_thread(descendants_root *root, void *arg, uid_t only, bool (*is_it)(pid_t thread, const void *data),
			     const void *data)
{
	struct thread_search search = {is_it, data, false};
	descendants_each(root, arg, only, search_threads, &search);
	return search.found;
}

struct signalled {
	descendants_root *root;
	void *arg;
	int signal, count;
	pid_t but;
	bool handlers; /* signal only processes that handle the signal */
};

/* Is the process with this number a root or a descendant of a root now? */
static bool is_descendant(pid_t pid, descendants_root *root, void *arg)
{
	struct descendants_process p = {.parent = pid};
	while (p.parent > 1 && p.parent != getpid()) {
		if (!read_process(p.parent, &p))
			return false;
		if (root(&p, arg))
			return true;
	}
	return false;
}

/* Another process may have got the number since the processes were listed. So the check follows the opening: the signal goes to the
 * process that was opened, or to none. */
static void send_signal(const struct descendants_process *p, void *arg)
{
	struct signalled *s = arg;
	s->count += !s->handlers;
	int fd = s->signal && p->pid != s->but ? pidfd_open(p->pid, 0) : -1;
	if (fd < 0)
		return;
	if (is_descendant(p->pid, s->root, s->arg) && (!s->handlers || handles_signal(p->pid, s->signal)))
		s->count += pidfd_send_signal(fd, s->signal, NULL, 0) == 0 && s->handlers;
	close(fd);
}

int descendants_signal(descendants_root *root, void *arg, uid_t only, int signal, pid_t but)
{
	struct signalled s = {root, arg, signal, 0, but, false};
	descendants_each(root, arg, only, send_signal, &s);
	return s.count;
}

int descendants_signal_handlers(descendants_root *root, void *arg, uid_t only, int signal, pid_t but)
{
	struct signalled s = {root, arg, signal, 0, but, true};
	descendants_each(root, arg, only, send_signal, &s);
	return s.count;
}

/* Stop the processes with SIGSTOP first, until no new process appears. Then kill them. */
bool descendants_kill(descendants_root *root, void *arg, uid_t only)
{
	int before = -1, now = descendants_signal(root, arg, only, 0, 0);
	if (now == 0)
		return false;
	for (int round = 0; round < ROUNDS && now != before; round++) {
		before = now;
		now = descendants_signal(root, arg, only, SIGSTOP, 0);
	}
	descendants_signal(root, arg, only, SIGKILL, 0);
	return true;
}
