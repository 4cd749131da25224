/* substep_process.c - starts and signals processes of sub-steps.
 *
 * Called by: substep_engine.c.
 * Invariants:
 * - A task leads a session. So its processes are found as long as they do not make sessions of their own. A process that does so
 *   is not signalled here, and ends with the step.
 * - A task starts with no descriptor but its three streams, with the default for every signal, and with the limits of the step. */
#include "procmgr/stepmgr/substep_process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rlimit files;		 /* limit of open files of tasks */
static int changed[NSIG], changed_count; /* signals whose handling this process has changed; tasks get the default */

static void limit_files(bool own)
{
	struct rlimit limit = {own ? files.rlim_max : files.rlim_cur, files.rlim_max};
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void find_changed(void)
{
	struct sigaction now;
	for (int number = 1; number < NSIG; number++)
		if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
			changed[changed_count++] = number;
}

void substep_process_open(void)
{
	find_changed();
	getrlimit(RLIMIT_NOFILE, &files);
	limit_files(true);
}

static const char *variable(char *const *environment, const char *name)
{
	size_t length = strlen(name);
	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* Find the path of the program by PATH of the task's environment. Returns false if there is no such program. */
static bool find_program(const struct substep_start *start, char found[PATH_MAX])
{
	const char *name = start->argv[0], *path = variable(start->environment, "PATH");
	if (strchr(name, '/'))
		return snprintf(found, PATH_MAX, "%s", name) < PATH_MAX;
	for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
		int length = (int)strcspn(at, ":");
		const char *folder = length > 0 && *at == '/' ? "" : start->cwd;
		snprintf(found, PATH_MAX, "%s%s%.*s/%s", folder, *folder ? "/" : "", length, at, name);
		if (access(found, X_OK) == 0)
			return true;
		at += length;
		at += *at == ':';
	}
	return false;
}

/* Describe why a program did not start. */
static void describe_failure(const struct substep_start *start, const char *program, int failure, struct err *e)
{
	if (access(start->cwd, X_OK) < 0) {
		err_sys(e, "could not enter folder \"%s\"", start->cwd);
		return;
	}
	errno = failure;
	err_sys(e, "could not execute \"%s\"", program);
}

struct child {
	const struct substep_start *start;
	const char *program;
	int failure; /* errno */
};

/* Runs in the new process, which shares the memory of its parent, but has its own descriptors and signals. AddressSanitizer does
 * not check this function: its data about the stack would stay in the parent when the process executes the program. */
__attribute__((no_sanitize("address"))) static int run_child(void *arg)
{
	struct child *c = arg;
	const struct substep_start *start = c->start;
	sigset_t none;
	sigemptyset(&none);
	for (int i = 0; i < changed_count; i++)
		signal(changed[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() >= 0 && chdir(start->cwd) == 0 && dup2(start->in, 0) == 0 && dup2(start->out, 1) == 1 &&
	    dup2(start->err, 2) == 2 && start->begin(start->arg))
		execve(c->program, start->argv, start->environment);
	c->failure = errno;
	return 127;
}

/* Start the program in a new process. This process waits until the new one has executed the program, so all use one stack in
 * turn. */
static pid_t process_spawn(const struct substep_start *start, const char *program, int *failure)
{
	static _Alignas(16) char stack[64 * 1024];
	struct child c = {start, program, 0};
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before); /* block signals, so that no handler of this process runs in the child */
	pid_t pid = clone(run_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
	*failure = pid < 0 ? errno : c.failure;
	if (pid > 0 && c.failure)
		waitpid(pid, NULL, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return *failure ? -1 : pid;
}

/* A child inherits the affinity and the limit of open files, so this process has those of the task while the child starts. */
pid_t substep_process_start(const struct substep_start *start, struct err *e)
{
	char program[PATH_MAX];
	cpu_set_t before;
	int failure;
	if (!find_program(start, program)) {
		err_set(e, "could not find program \"%.256s\"", start->argv[0]);
		err_hint(e, "give its path, or check PATH");
		return -1;
	}
	if (start->cores &&
	    (sched_getaffinity(0, sizeof before, &before) < 0 || sched_setaffinity(0, sizeof *start->cores, start->cores) < 0)) {
		err_sys(e, "could not bind \"%.256s\" to its cores", start->argv[0]);
		return -1;
	}
	limit_files(false);
	pid_t pid = process_spawn(start, program, &failure);
	limit_files(true);
	if (start->cores)
		sched_setaffinity(0, sizeof before, &before);
	if (pid < 0)
		describe_failure(start, program, failure, e);
	return pid;
}

void substep_process_signal(const pid_t *pids, int count, int signal)
{
	for (int i = 0; i < count; i++)
		if (pids[i] > 0)
			kill(-pids[i], signal); /* signal the process group of each task first, before the search of /proc */
	DIR *dir = opendir("/proc");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
		pid_t session = pid > 0 ? getsid(pid) : -1;
		for (int i = 0; session > 0 && i < count; i++)
			if (pids[i] == session && getpgid(pid) != session)
				kill(pid, signal);
	}
	if (dir)
		closedir(dir);
}
