/* process.c - starts and ends the daemons of a private instance.
 *
 * Called by: `rota up` and `rota down`.
 * Invariants:
 * - A daemon inherits from the shell only its log and the variables in HANDED_ON: no other descriptor, terminal or signal
 *   setting.
 * - A daemon has ended when its process has ended. A released lock is not enough: munged releases its lock before it writes
 *   its seed file.
 * - Before a process gets a signal, the lock of the daemon confirms the pid. */
#include "bin/rota/instance/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/proc_file.h"

extern char **environ;

/* Environment variables that a daemon inherits: by name, or by prefix if the name ends in '*'. */
static const char *const HANDED_ON[] = {"TZ",	       "ASAN_*",	 "UBSAN_*",    "LSAN_*", "HWLOC_*",
					"KRB5_CONFIG", "CURL_CA_BUNDLE", "SSL_CERT_*", "ROTA_*", NULL};

void process_rest(int milliseconds)
{
	poll(NULL, 0, milliseconds);
}

static bool handed_on(const char *variable)
{
	for (const char *const *name = HANDED_ON; *name; name++) {
		size_t length = strcspn(*name, "*");

		if (!strncmp(variable, *name, length) && ((*name)[length] == '*' || variable[length] == '='))
			return true;
	}
	return false;
}

/* Returns the environment of a daemon. Its texts are those of this process, so it is valid only until exec. */
static char **daemon_environment(const struct instance *in)
{
	size_t count = 0, at = 0;
	char **list;

	while (environ[count])
		count++;
	list = xcalloc(count + 5, sizeof(*list));
	list[at++] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	list[at++] = "LANG=C.UTF-8";
	list[at++] = xasprintf("HOME=%s", in->home);
	for (size_t i = 0; i < count; i++)
		if (handed_on(environ[i]))
			list[at++] = environ[i];
	return list;
}

/* Open the log file of a daemon. The caller opens it, so that the account cannot put a link in its place. */
static int log_file(const struct instance *in, const char *name, struct err *e)
{
	char *path = instance_path(in, "log/%s.log", name);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		err_sys(e, "could not open \"%s\"", path);
	free(path);
	return fd;
}

/* Execute the daemon in the child process. Returns only after an error, which is written to `report`. */
static void child_execute(const struct instance *in, const char *const *argv, const char *account, int log, int report)
{
	struct err e = {0};
	sigset_t blocked;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char **environment = daemon_environment(in);

	setsid();
	umask(022);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&blocked);
	if (!account) /* `rota down` may send a signal to a launcher that has not set its handlers yet */
		sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	report = fcntl(report, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || report < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || chdir(in->home))
		err_sys(&e, "could not set up its standard streams, or enter \"%s\"", in->home);
	else if (in->root && account && !daemon_become(account, &e))
		;
	else {
		close_range(3, report - 1, 0);
		close_range(report + 1, ~0U, 0);
		execve(argv[0], (char *const *)argv, environment);
		err_sys(&e, "could not execute \"%s\"", argv[0]);
	}
	if (write(report, e.message, strlen(e.message)) < 0)
		_exit(126);
	_exit(127);
}

pid_t process_start(const struct instance *in, const char *name, const char *const *argv, const char *account, struct err *e)
{
	char why[sizeof(e->message)];
	int log = log_file(in, name, e), ends[2];
	ssize_t got;
	pid_t pid;

	if (log < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC))
		die("could not make a pipe to start %s: %s", name, strerror(errno));
	pid = fork();
	if (pid == 0)
		child_execute(in, argv, account, log, ends[1]);
	close(log);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		err_sys(e, "could not fork a process for %s", name);
		return -1;
	}
	do
		got = read(ends[0], why, sizeof(why) - 1);
	while (got < 0 && errno == EINTR);
	close(ends[0]);
	if (got <= 0)
		return pid;
	why[got] = '\0';
	waitpid(pid, NULL, 0);
	err_set(e, "%s: %s", name, why);
	return -1;
}

bool process_run(const struct instance *in, const char *name, const char *const *argv, struct err *e)
{
	pid_t pid = process_start(in, name, argv, in->account, e);
	int status;

	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "could not wait for %s", name);
	if (status == 0)
		return true;
	process_log_tail(in, name);
	if (WIFSIGNALED(status))
		return err_set(e, "%s was ended by signal %d", name, WTERMSIG(status));
	return err_set(e, "%s failed with exit code %d", name, WEXITSTATUS(status));
}

bool process_as_account(const struct instance *in, bool (*work)(const struct instance *in, struct err *e), struct err *e)
{
	int ends[2];
	ssize_t got;
	pid_t pid;

	if (!in->root)
		return work(in, e);
	if (pipe2(ends, O_CLOEXEC))
		die("could not make a pipe to a process of account \"%s\": %s", in->account, strerror(errno));
	pid = fork();
	if (pid < 0)
		die("could not fork a process of account \"%s\": %s", in->account, strerror(errno));
	if (pid == 0) {
		bool ok = daemon_become(in->account, e) && work(in, e);

		_exit(ok || write(ends[1], e, sizeof(*e)) < 0 ? 0 : 1);
	}
	close(ends[1]);
	do
		got = read(ends[0], e, sizeof(*e));
	while (got < 0 && errno == EINTR);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return got == 0;
}

void process_log_tail(const struct instance *in, const char *name)
{
	enum { LINES = 15, BYTES = 4096 };
	char *path = instance_path(in, "log/%s.log", name), text[BYTES + 1];
	FILE *file = fopen(path, "re");
	size_t size = 0, from;
	int lines = 0;

	if (file) {
		if (fseek(file, -(long)BYTES, SEEK_END))
			rewind(file);
		size = fread(text, 1, BYTES, file);
		fclose(file);
	}
	for (from = size; from > 0 && lines <= LINES; from--)
		lines += text[from - 1] == '\n';
	if (lines > LINES)
		from++;
	if (size > from)
		fprintf(stderr, "--- the end of %s ---\n%.*s---\n", path, (int)(size - from), text + from);
	free(path);
}

bool process_await(const struct instance *in, const char *name, pid_t pid, int seconds,
		   bool (*ready)(const struct instance *in, const void *arg), const void *arg, struct err *e)
{
	long until = clock_ms() + seconds * 1000L;
	int status = 0;

	while (!ready(in, arg)) {
		bool ended = pid > 0 && waitpid(pid, &status, WNOHANG) == pid;

		if (!ended && clock_ms() < until) {
			process_rest(20);
			continue;
		}
		process_log_tail(in, name);
		if (!ended)
			err_set(e, "%s was not ready within %d seconds", name, seconds);
		else if (WIFSIGNALED(status))
			err_set(e, "%s was ended by signal %d at its start", name, WTERMSIG(status));
		else
			err_set(e, "%s ended at its start with exit code %d", name, WEXITSTATUS(status));
		return err_hint(e, "Its log is %s/log/%s.log.", in->home, name);
	}
	return true;
}

/* Arguments of a wait for a daemon that was found running. */
struct seen {
	const struct process_part *part;
	pid_t pid;
};

/* Returns true if a set of signals in /proc/PID/status has SIGKILL. */
static bool has_kill(const char *status, const char *set)
{
	const char *value = proc_file_field(status, set);

	return value && strtoull(value, NULL, 16) & 1ULL << (SIGKILL - 1);
}

/* Returns true if the process is exiting: the kernel's flag PF_EXITING in /proc/PID/stat. */
static bool has_exiting(const char *stat)
{
	enum { EXITING = 0x4 };
	const char *fields = proc_file_stat(stat);
	unsigned flags;

	return fields && sscanf(fields, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & EXITING;
}

/* Returns true if the process has been killed or exits. It may have its lock for a while. */
static bool process_is_dying(pid_t pid)
{
	char status[8192], stat[1024];

	if (!proc_file_read(pid, "status", status, sizeof(status)) || !proc_file_read(pid, "stat", stat, sizeof(stat)))
		return true;
	return has_kill(status, "SigPnd:") || has_kill(status, "ShdPnd:") || has_exiting(stat);
}

static bool is_ready_or_gone(const struct instance *in, const void *arg)
{
	const struct seen *seen = arg;

	return seen->part->find(in, seen->part->arg) != seen->pid ||
	       (!process_is_dying(seen->pid) && seen->part->ready(in, seen->part->arg));
}

bool process_have(const struct instance *in, const struct process_part *part, struct err *e)
{
	struct seen seen = {part, part->find(in, part->arg)};
	pid_t pid;

	if (seen.pid) {
		instance_say(in, "%s runs (pid %d)", part->what, (int)seen.pid);
		if (!process_await(in, part->log, 0, part->seconds, is_ready_or_gone, &seen, e))
			return false;
		if (part->find(in, part->arg) == seen.pid)
			return true;
		instance_say(in, "%s has ended (pid %d)", part->what, (int)seen.pid);
	}
	if (part->prepare && !part->prepare(in, e))
		return false;
	pid = process_start(in, part->log, part->argv, part->account ? part->account : in->account, e);
	if (pid <= 0)
		return false;
	instance_say(in, "%s started (pid %d)", part->what, (int)pid);
	return process_await(in, part->log, pid, part->seconds, part->ready, part->arg, e);
}

/* Wait until the process of a pidfd has ended. Returns false if `seconds` pass first. */
static bool process_gone(int process, int seconds)
{
	struct pollfd fd = {.fd = process, .events = POLLIN};
	long until = clock_ms() + seconds * 1000L;

	for (long left = seconds * 1000L; left >= 0; left = until - clock_ms()) {
		int ready = poll(&fd, 1, (int)left);

		if (ready > 0 || (ready < 0 && errno != EINTR))
			return ready > 0;
	}
	return false;
}

bool process_end(const struct instance *in, pid_t pid, int signal, int seconds,
		 pid_t (*alive)(const struct instance *in, const void *arg), const void *arg)
{
	const struct {
		int signal, seconds;
	} stages[] = {{signal, seconds}, {SIGKILL, 5}};
	int process = pidfd_open(pid, 0);
	bool gone = process < 0 && errno == ESRCH, allowed = process >= 0;
	/* A daemon without its lock is ending, or another process has its pid now. Neither process gets a signal. */
	bool signals = allowed && alive(in, arg) == pid;

	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]) && allowed && !gone; i++) {
		allowed = !signals || !pidfd_send_signal(process, stages[i].signal, NULL, 0) || errno == ESRCH;
		gone = allowed && process_gone(process, stages[i].seconds);
	}
	if (process >= 0)
		close(process);
	return gone || (allowed && !signals);
}
