/* bounded_run.c - runs a program for a bounded time.
 *
 * Called by: criu_init.c, driver_dmtcp.c, driver_cuda.c, driver_script.c, restart_facts.c. */
#include "procmgr/record/bounded_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"

enum { TERM_S = 5 }; /* time for CRIU to continue processes that it has stopped */

static void run_execute(char *const *argv, int output)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execv(argv[0], argv);
	_exit(127);
}

/* Read until the end of the program's output. Returns false at the time `until`. */
static bool run_read(int fd, int64_t until, char *text, size_t size)
{
	char rest[512];
	size_t used = 0;
	for (;;) {
		int64_t left_ms = (until - clock_boot_us()) / 1000;
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (left_ms <= 0)
			return false;
		if (poll(&p, 1, left_ms < 1000 ? (int)left_ms : 1000) <= 0)
			continue;
		bool full = used + 1 >= size;
		ssize_t got = full ? read(fd, rest, sizeof rest) : read(fd, text + used, size - used - 1);
		if (got == 0 || (got < 0 && errno != EINTR))
			return true;
		used += got > 0 && !full ? (size_t)got : 0;
		text[used] = '\0';
	}
}

int bounded_run(char *const *argv, int seconds, char *text, size_t size)
{
	int fds[2], status = 0;
	char rest[64];
	text[0] = '\0';
	if (pipe2(fds, O_CLOEXEC) < 0)
		return BOUNDED_RUN_FAILED;
	pid_t pid = fork();
	if (pid == 0)
		run_execute(argv, fds[1]);
	close(fds[1]);
	bool late = pid > 0 && !run_read(fds[0], clock_boot_us() + (int64_t)seconds * 1000000, text, size);
	if (late && kill(pid, SIGTERM) == 0 && !run_read(fds[0], clock_boot_us() + (int64_t)TERM_S * 1000000, rest, sizeof rest))
		kill(pid, SIGKILL);
	close(fds[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (pid < 0)
		return BOUNDED_RUN_FAILED;
	if (late)
		return BOUNDED_RUN_LATE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : BOUNDED_RUN_KILLED;
}
