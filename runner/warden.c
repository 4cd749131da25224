/* warden.c - hooks do not outlive their runner, however it dies.
 *
 * The kernel kills a hook's first process with the runner (PR_SET_PDEATHSIG), but not what that has started. So the runner tells the
 * warden each process group through a pipe, and when the pipe is closed, the warden kills those that are left and ends. What
 * always holds: it knows of no group that is gone, so it kills nobody else; it holds nothing but the pipe's end. */
#include "runner/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct word {
	pid_t group;
	bool runs;
};

static struct {
	int fd;
	pid_t pid;
} warden = {.fd = -1};

static void group_add(pid_t **groups, int *count, int *room, pid_t group)
{
	if (*count == *room) {
		*room = *room ? 2 * *room : 64;
		*groups = xrealloc(*groups, (unsigned long)*room * sizeof **groups);
	}
	(*groups)[(*count)++] = group;
}

static void group_remove(pid_t *groups, int *count, pid_t group)
{
	for (int i = 0; i < *count; i++)
		if (groups[i] == group)
			groups[i--] = groups[--*count];
}

static void watch(int fd)
{
	pid_t *groups = NULL;
	int count = 0, room = 0;
	struct word word;
	ssize_t size;

	while ((size = read(fd, &word, sizeof word)) == sizeof word || (size < 0 && errno == EINTR)) {
		if (size < 0)
			continue;
		if (word.runs)
			group_add(&groups, &count, &room, word.group);
		else
			group_remove(groups, &count, word.group);
	}
	for (int i = 0; i < count; i++)
		kill(-groups[i], SIGKILL);
	free(groups);
	_exit(0);
}

bool warden_start(struct err *e)
{
	static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, "could not make a pipe");
	warden.pid = fork();
	if (warden.pid < 0)
		return err_sys(e, "could not fork");
	if (warden.pid == 0) {
		close(ends[1]);
		prctl(PR_SET_NAME, "runnerd-warden");
		for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
			signal(ignored[i], SIG_IGN);
		watch(ends[0]);
	}
	close(ends[0]);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	warden.fd = ends[1];
	return true;
}

pid_t warden_pid(void)
{
	return warden.pid;
}

void warden_told(pid_t group, bool runs)
{
	struct word word;

	memset(&word, 0, sizeof word);
	word.group = group;
	word.runs = runs;
	if (write(warden.fd, &word, sizeof word) != sizeof word)
		die("the warden does not hear: %s", strerror(errno));
}
