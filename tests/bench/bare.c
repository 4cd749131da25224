/* bare.c - the limit of the benchmarks array, hooks and steps: how fast this machine runs programs without any record of them.
 *
 * tests/bench/lib/turns.py and steps.py start it: bare [-a ARGUMENT] SECONDS PROGRAM... For each of several numbers of processes in
 * flight it runs elements for SECONDS and prints a line "IN-FLIGHT RATE", the rate in elements a second. An element runs the programs
 * one after the other, each with ARGUMENT if there is one; their output goes to /dev/null.
 * Invariants: no more processes at once than the number in flight; all of them have ended before the next number is tried. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };

extern char **environ;

struct slot {
	pid_t pid; /* 0: no process runs in this slot */
	int next;  /* index of the element's next program */
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "bare: %s: %s\n", what, strerror(error));
	exit(1);
}

static char *argument; /* the only argument of each program; NULL: programs get none */

static void start(struct slot *s, char **programs, const posix_spawn_file_actions_t *actions)
{
	char *argv[] = {programs[s->next], argument, NULL};
	int error = posix_spawn(&s->pid, argv[0], actions, NULL, argv, environ);
	if (error)
		fail(argv[0], error);
	s->next++;
}

/* Wait for one process; returns its slot. */
static struct slot *reap(struct slot *slots)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0);
	if (pid < 0)
		fail("waitpid", errno);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail("a program failed", ECHILD);
	while (slots->pid != pid)
		slots++;
	slots->pid = 0;
	return slots;
}

/* Elements a second with so many processes in flight. */
static double rate(int flight, double seconds, char **programs, int count, const posix_spawn_file_actions_t *actions)
{
	struct slot slots[MOST] = {{0, 0}};
	long elements = 0;
	double began = now(), ended;
	for (int i = 0; i < flight; i++)
		start(&slots[i], programs, actions);
	for (int live = flight; live > 0;) {
		struct slot *s = reap(slots);
		if (s->next == count) {
			elements++;
			s->next = 0;
		}
		if (s->next > 0 || now() - began < seconds)
			start(s, programs, actions);
		else
			live--;
	}
	ended = now();
	return (double)elements / (ended - began);
}

int main(int argc, char **argv)
{
	static const int flights[] = {1, 2, 3, 4, 6, 8, 16, 64};
	posix_spawn_file_actions_t actions;
	if (argc > 2 && strcmp(argv[1], "-a") == 0) {
		argument = argv[2];
		argv += 2;
		argc -= 2;
	}
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	if (argc < 3 || seconds <= 0) {
		fprintf(stderr, "usage: bare [-a ARGUMENT] SECONDS PROGRAM...\n");
		return 2;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < sizeof flights / sizeof *flights; i++)
		printf("%d %.1f\n", flights[i], rate(flights[i], seconds, argv + 2, argc - 2, &actions));
	posix_spawn_file_actions_destroy(&actions);
	return 0;
}
