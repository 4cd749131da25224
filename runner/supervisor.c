/* supervisor.c - kills the hooks of a runner that died, however it died.
 *
 * The kernel kills a hook's first process with the runner (PR_SET_PDEATHSIG), but not the processes that it started. So the
 * runner reports each process group through a pipe. When the pipe is closed, the supervisor kills the groups that are left and
 * ends.
 * Called by: bin/runnerd.c at the start; hook.c for each process group.
 * Invariants:
 * - The supervisor's list has no process group whose last process has ended, so the supervisor never kills an unrelated process.
 * - The supervisor holds no descriptors except its end of the pipe and those that it inherited. */
#include "runner/supervisor.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A message on the pipe from the runner to the supervisor. */
struct group_report {
	pid_t group;
	bool running;
};

struct group_list {
	pid_t *groups;
	size_t count, capacity;
};

static struct {
	int fd;
	pid_t pid;
} supervisor = {.fd = -1};

static void group_add(struct group_list *list, pid_t group)
{
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 64;
		list->groups = xrealloc(list->groups, list->capacity * sizeof *list->groups);
	}
	list->groups[list->count++] = group;
}

static void group_remove(struct group_list *list, pid_t group)
{
	for (size_t i = 0; i < list->count;) {
		if (list->groups[i] == group)
			list->groups[i] = list->groups[--list->count];
		else
			i++;
	}
}

/* Run the supervisor's process. Never returns. */
static void supervisor_run(int fd)
{
	struct group_list list = {0};
	struct group_report report;
	ssize_t size;

	while ((size = read(fd, &report, sizeof report)) == sizeof report || (size < 0 && errno == EINTR)) {
		if (size < 0)
			continue;
		if (report.running)
			group_add(&list, report.group);
		else
			group_remove(&list, report.group);
	}
	for (size_t i = 0; i < list.count; i++)
		kill(-list.groups[i], SIGKILL);
	free(list.groups);
	_exit(0);
}

bool supervisor_start(struct err *e)
{
	static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, "could not make a pipe to the supervisor process");
	supervisor.pid = fork();
	if (supervisor.pid < 0)
		return err_sys(e, "could not fork the supervisor process");
	if (supervisor.pid == 0) {
		close(ends[1]);
		prctl(PR_SET_NAME, "rota-supervisor"); /* a process name has at most 15 characters */
		for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
			signal(ignored[i], SIG_IGN);
		supervisor_run(ends[0]);
	}
	close(ends[0]);
	file_set_blocking(ends[1], false);
	supervisor.fd = ends[1];
	return true;
}

pid_t supervisor_pid(void)
{
	return supervisor.pid;
}

void supervisor_report(pid_t group, bool running)
{
	struct group_report report;

	memset(&report, 0, sizeof report); /* clear the padding, which is written too */
	report.group = group;
	report.running = running;
	if (write(supervisor.fd, &report, sizeof report) != sizeof report)
		die("could not report process group %d to the supervisor: %s", (int)group, strerror(errno));
}
