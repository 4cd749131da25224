/* cgroups_signal.c - signals the processes of a cgroup.
 *
 * Called by: cgroups.c.
 * Invariants: only processes of the cgroup are signalled. A process may end after the cgroup has listed it, and another one get its
 * number. So a process is opened first. If the cgroup lists the number after that, the open process is the listed one, or has
 * ended. */
#include "procmgr/keeper/cgroups_signal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "lib/err.h"
#include "procmgr/keeper/cgroups_file.h"
#include "procmgr/keeper/handles.h"

enum { OPEN_MOST = 64 };

struct pids {
	int *list; /* malloc'ed list of process ids; NULL if the cgroup has no process */
	int count;
};

static struct pids list_pids(const char *dir, const char *key)
{
	char path[CGROUPS_PATH_SIZE];
	struct pids pids = {NULL, 0};
	snprintf(path, sizeof path, "%s/%s/cgroup.procs", dir, key);
	FILE *file = fopen(path, "re");
	int pid, capacity = 0;
	while (file && fscanf(file, "%d", &pid) == 1) {
		if (pids.count == capacity) {
			capacity = capacity ? 2 * capacity : OPEN_MOST;
			pids.list = xrealloc(pids.list, (unsigned long)capacity * sizeof *pids.list);
		}
		pids.list[pids.count++] = pid;
	}
	if (file)
		fclose(file);
	return pids;
}

static bool has_pid(const struct pids *pids, int pid)
{
	for (int i = 0; i < pids->count; i++)
		if (pids->list[i] == pid)
			return true;
	return false;
}

/* Signal the processes of `list`, of which there are at most OPEN_MOST, so that few descriptors are open at a time. Returns how
 * many processes were signalled. The kernel lists a process of another PID namespace as 0, which cannot be opened. */
static int signal_some(const char *dir, const char *key, const int *list, int count, int signal, bool handlers)
{
	int fds[OPEN_MOST], signalled = 0;
	for (int i = 0; i < count; i++)
		fds[i] = list[i] > 0 ? pidfd_open(list[i], 0) : -1;
	struct pids now = list_pids(dir, key);
	for (int i = 0; i < count; i++) {
		if (fds[i] >= 0 && has_pid(&now, list[i]) && (!handlers || handles_signal(list[i], signal)))
			signalled += pidfd_send_signal(fds[i], signal, NULL, 0) == 0;
		if (fds[i] >= 0)
			close(fds[i]);
	}
	free(now.list);
	return signalled;
}

int cgroups_signal_listed(const char *dir, const char *key, int signal, pid_t but, bool handlers)
{
	struct pids pids = list_pids(dir, key);
	for (int i = 0; i < pids.count; i++)
		if (pids.list[i] == but)
			pids.list[i] = 0;
	int signalled = 0;
	for (int from = 0; from < pids.count; from += OPEN_MOST) {
		int left = pids.count - from;
		signalled += signal_some(dir, key, pids.list + from, left < OPEN_MOST ? left : OPEN_MOST, signal, handlers);
	}
	free(pids.list);
	return handlers ? signalled : pids.count;
}
