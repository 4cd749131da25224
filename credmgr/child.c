/* child.c - runs rota-credential with files in memory as its standard files.
 *
 * Called by: credd_upload.c, credd_renew.c and credd_test.c, to start it; credd.c when a process ended.
 * Invariants:
 * - No secret is passed in an argument, in the environment or in a file that has a name.
 * - rota-credential inherits no descriptor of rota-credd, so neither its keys nor its connection to the database.
 * - The output of rota-credential has at most CHILD_MOST bytes. */
#include "credmgr/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/daemon.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/text.h"

enum {
	CHILD_INPUT,
	CHILD_OUTPUT,
	CHILD_REASON,
	CHILD_FACTS,
	CHILD_FILES,
	CHILD_MOST = 2 * 1024 * 1024,
	CHILD_REASON_LONGEST = 400,
	CHILD_FINAL = 3 /* exit status of rota-credential */
};

struct child {
	pid_t pid;
	int files[CHILD_FILES];
	char error[256]; /* why rota-credential did not start; "" if it started */
	struct event *deadline, *unstarted;
	bool late;
	child_done *done;
	void *arg;
};

static int child_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		die("could not make a file in memory: %s", strerror(errno));
	return fd;
}

static void child_write(int fd, const unsigned char *data, size_t size)
{
	if (!file_write_all(fd, data, size))
		die("could not write a file in memory: %s", strerror(errno));
	if (lseek(fd, 0, SEEK_SET) != 0)
		die("could not rewind a file in memory: %s", strerror(errno));
}

/* Overwrite and close a file in memory. */
static void child_close(int fd)
{
	if (ftruncate(fd, 0))
		log_warning("could not empty a file in memory: %s", strerror(errno));
	close(fd);
}

/* In the new process: become rota-credential. Descriptors from 4 on are closed when it is executed. */
static void child_become(const struct child *c, const char *path, char *const *argv)
{
	const struct rlimit size = {CHILD_MOST, CHILD_MOST}, none = {0, 0};
	sigset_t signals;
	sigemptyset(&signals);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_FSIZE, &size);
	setrlimit(RLIMIT_CORE, &none);
	setpgid(0, 0);
	int files[CHILD_FILES];
	/* move the files to high descriptors first, away from the descriptors that the program gets */
	for (int i = 0; i < CHILD_FILES; i++)
		files[i] = fcntl(c->files[i], F_DUPFD_CLOEXEC, CHILD_FILES);
	for (int i = 0; i < CHILD_FILES; i++)
		dup2(files[i], i);
	close_range(CHILD_FILES, ~0U, 0);
	execv(path, argv);
	_exit(127);
}

/* Make the list of arguments, with the program's name first. Only the list is malloc'ed. */
static char **child_argv(char *path, char *const *arguments)
{
	size_t count = 0;
	while (arguments[count])
		count++;
	char **argv = xcalloc(count + 2, sizeof *argv);
	argv[0] = path;
	memcpy(argv + 1, arguments, count * sizeof *argv);
	return argv;
}

static void child_late(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;
	(void)fd;
	(void)what;
	c->late = true;
	kill(-c->pid, SIGKILL);
}

/* Read a whole file in memory; malloc'ed, with a NUL after it. */
static unsigned char *child_read(int fd, size_t *size)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		die("could not read a file in memory: %s", strerror(errno));
	size_t most = st.st_size < CHILD_MOST ? (size_t)st.st_size : CHILD_MOST;
	unsigned char *data = xcalloc(1, most + 1);
	ssize_t length = pread(fd, data, most, 0);
	*size = length > 0 ? (size_t)length : 0;
	return data;
}

/* Turn the text that rota-credential wrote to its standard error into one printable line. */
static void child_make_line(char *text)
{
	text[strcspn(text, "\n")] = '\0';
	text_cut(text, CHILD_REASON_LONGEST); /* the cut may leave a part of a character, if the text is not UTF-8 */
	text_clean(text);
}

/* Call the callback with the answer of rota-credential, and free the child. */
static void child_end(struct child *c, int status)
{
	size_t sizes[CHILD_FILES];
	unsigned char *texts[CHILD_FILES];
	for (int i = CHILD_OUTPUT; i < CHILD_FILES; i++)
		texts[i] = child_read(c->files[i], &sizes[i]);
	char *reason = (char *)texts[CHILD_REASON];
	child_make_line(reason);
	bool good = !*c->error && !c->late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	struct child_answer answer = {.good = good,
				      .final = !*c->error && !c->late && WIFEXITED(status) && WEXITSTATUS(status) == CHILD_FINAL,
				      .facts = good ? (char *)texts[CHILD_FACTS] : "",
				      .secret = texts[CHILD_OUTPUT],
				      .size = sizes[CHILD_OUTPUT],
				      .reason = *c->error ? c->error
						: c->late ? "it took too long"
						: *reason ? reason
							  : "the program that reads it has died"};
	c->pid = 0;
	c->done(&answer, c->arg);
	for (int i = CHILD_OUTPUT; i < CHILD_FILES; i++)
		xfree_wiped(texts[i], sizes[i]);
	child_free(c);
}

static void child_unstarted(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	child_end(arg, 0);
}

struct child *child_start(struct event_base *base, char *const *arguments, const void *secret, size_t size, int seconds,
			  child_done *done, void *arg)
{
	static const char *const names[CHILD_FILES] = {"input", "output", "reason", "facts"};
	struct child *c = xcalloc(1, sizeof *c);
	struct err e = {0};
	char *path = daemon_beside("rota-credential", &e);
	c->done = done;
	c->arg = arg;
	for (int i = 0; i < CHILD_FILES; i++)
		c->files[i] = child_file(names[i]);
	child_write(c->files[CHILD_INPUT], secret, size);
	c->deadline = evtimer_new(base, child_late, c);
	c->unstarted = evtimer_new(base, child_unstarted, c);
	char **argv = path ? child_argv(path, arguments) : NULL;
	c->pid = path ? fork() : -1;
	if (c->pid == 0)
		child_become(c, path, argv);
	if (c->pid > 0) {
		event_add(c->deadline, &(struct timeval){.tv_sec = seconds});
	} else {
		snprintf(c->error, sizeof c->error, "%.200s", path ? strerror(errno) : e.message);
		event_active(c->unstarted, EV_TIMEOUT, 0);
	}
	free(argv);
	free(path);
	return c;
}

void child_free(struct child *c)
{
	if (c->pid > 0) {
		kill(-c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	for (int i = 0; i < CHILD_FILES; i++)
		child_close(c->files[i]);
	event_free(c->deadline);
	event_free(c->unstarted);
	free(c);
}

bool child_reap(struct child *c, pid_t pid)
{
	int status;
	if (c->pid != pid)
		return false;
	waitpid(pid, &status, 0);
	kill(-pid, SIGKILL); /* kill processes that rota-credential has left behind */
	child_end(c, status);
	return true;
}
