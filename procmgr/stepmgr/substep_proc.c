/* substep_proc.c - reads the processes of this user from /proc (substep_proc.h).
 *
 * Called by: substep_usage.c.
 * Invariants: a process that ends meanwhile is left out. */
#include "procmgr/stepmgr/substep_proc.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/proc_file.h"

/* Read fields 4, 6, 14 to 17 and 24 of /proc/PID/stat (proc(5)). */
static bool parse_stat(const char *text, struct substep_proc *p)
{
	static int64_t tick_usec, page_kb;
	const char *fields = proc_file_stat(text);
	long long user, system, child_user, child_system, pages;
	int parent, session;
	if (!fields ||
	    sscanf(fields, " %*c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld %*d %*d %*d %*d %*u %*u %lld", &parent,
		   &session, &user, &system, &child_user, &child_system, &pages) != 7)
		return false;
	if (tick_usec == 0) {
		tick_usec = 1000000 / sysconf(_SC_CLK_TCK);
		page_kb = sysconf(_SC_PAGESIZE) / 1024;
	}
	p->parent = parent;
	p->session = session;
	p->cpu_usec = (user + system + child_user + child_system) * tick_usec;
	p->rss_kb = pages * page_kb;
	return true;
}

/* Read a process of the user `uid`. */
static bool proc_read(int folder, const char *name, uid_t uid, struct substep_proc *p)
{
	char text[1024];
	struct stat st;
	p->pid = (pid_t)strtol(name, NULL, 10);
	return fstatat(folder, name, &st, 0) == 0 && st.st_uid == uid && proc_file_read(p->pid, "stat", text, sizeof text) &&
	       parse_stat(text, p);
}

static int compare_pids(const void *a, const void *b)
{
	const struct substep_proc *x = a, *y = b;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

struct substep_proc *substep_proc_read(size_t *count)
{
	struct substep_proc *list = NULL, one;
	size_t capacity = 0;
	DIR *dir = opendir("/proc");
	*count = 0;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (!isdigit((unsigned char)*entry->d_name) || !proc_read(dirfd(dir), entry->d_name, geteuid(), &one))
			continue;
		if (*count == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			list = xrealloc(list, capacity * sizeof *list);
		}
		list[(*count)++] = one;
	}
	if (dir)
		closedir(dir);
	if (*count > 0)
		qsort(list, *count, sizeof *list, compare_pids);
	return list;
}

const struct substep_proc *substep_proc_find(const struct substep_proc *list, size_t count, pid_t pid)
{
	struct substep_proc key = {.pid = pid};
	return count > 0 ? bsearch(&key, list, count, sizeof *list, compare_pids) : NULL;
}
