/* criu_init.c - the first process of a step that CRIU saves and restores (criu_init.h).
 *
 * This process starts the program with a process number that is free in each new PID namespace, or has CRIU restore the program. It waits
 * for the program, and has CRIU save it on request.
 *
 * Called by: bin/rota-checkpoint.c.
 * Invariants:
 * - This process and CRIU run as the owner with CAP_CHECKPOINT_RESTORE; the program is started without a capability. An owner can use the
 *   capability all the same: it is ambient and sets no AT_SECURE, so the owner can load code into this process (LD_PRELOAD).
 * - The program gets all orphans of the step, so that CRIU finds each process below it.
 * - Files are reached by descriptors of folders that only the owner can write to. */
#include "procmgr/checkpoint/criu_init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_call.h"
#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/checkpoint_step.h"
#include "procmgr/checkpoint/criu_files.h"
#include "procmgr/checkpoint/criu_socket.h"
#include "procmgr/record/bounded_run.h"
#include "lib/text.h"

enum { SIGNALLED = 128, TEXT_SIZE = 1 << 16, READ_S = 10 };

/* One run of CRIU. `folder`: of the program criu; `images`, `run`: descriptors of the folders for images and for other files. */
struct criu_run {
	const char *folder;
	int images, run, seconds;
};

/* Open the folder of this attempt's socket (ROTA_CHECKPOINT_DIR.run). Returns a descriptor, -1 with an error. */
static int open_run(struct err *e)
{
	char *path = xasprintf("%s.run", checkpoint_step_variable("ROTA_CHECKPOINT_DIR"));
	int fd = folder_open_own(AT_FDCWD, path, true, e);
	free(path);
	return fd;
}

static int open_variable(const char *name, struct err *e)
{
	return folder_open_own(AT_FDCWD, checkpoint_step_variable(name), false, e);
}

/* Set the error from the first error in the output `text` of CRIU, without the place in CRIU's source. `what`: save or
 * restore. */
static void read_error(char *text, const char *what, struct err *e)
{
	char *error = strstr(text, "Error ("), *after = error ? strstr(error, "): ") : NULL;
	if (after)
		after[3 + strcspn(after + 3, "\n")] = '\0';
	err_set(e, "CRIU could not %s the program: %.300s", what, after ? after + 3 : "criu printed no error");
}

/* Remove variables that change what CRIU, or the dynamic linker of its program, does. */
static void clear_environment(void)
{
	static const char *const begins[] = {"CRIU_", "CRTOOLS_", "LD_"};
	for (char **at = environ; *at;) {
		bool found = false;
		for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
			found = found || strncmp(*at, begins[i], strlen(begins[i])) == 0;
		char *name = found ? xstrndup(*at, strcspn(*at, "=")) : NULL;
		/* unsetenv() shortens the list, unless the entry has no name */
		if (!name || unsetenv(name) < 0)
			at++;
		free(name);
	}
}

/* Run criu for at most `seconds`. `what`: "save" or "restore" the program of the step; `more`: further arguments. */
static bool run_criu(const struct criu_run *r, const char *what, char *const *more, struct err *e)
{
	char *program = xasprintf("%s/criu", r->folder), images[64], work[64], *text = xmalloc(TEXT_SIZE);
	char *argv[24] = {program,
			  (char *)(*what == 's' ? "dump" : "restore"),
			  (char *)"--no-default-config",
			  (char *)"--unprivileged",
			  (char *)"--images-dir",
			  images,
			  (char *)"--work-dir",
			  work,
			  (char *)"-v1",
			  (char *)"--manage-cgroups=ignore",
			  (char *)"--network-lock=skip",
			  (char *)"--file-locks"};
	int count = 0;
	while (argv[count])
		count++;
	for (int i = 0; more[i]; i++)
		argv[count++] = more[i];
	snprintf(images, sizeof images, "/proc/self/fd/%d", r->images);
	snprintf(work, sizeof work, "/proc/self/fd/%d", r->run);
	clear_environment();
	fcntl(r->images, F_SETFD, 0);
	fcntl(r->run, F_SETFD, 0);
	int code = bounded_run(argv, r->seconds, text, TEXT_SIZE);
	fcntl(r->images, F_SETFD, FD_CLOEXEC);
	fcntl(r->run, F_SETFD, FD_CLOEXEC);
	if (code == BOUNDED_RUN_LATE)
		err_set(e, "CRIU did not %s the program within %d second%s", what, r->seconds, text_plural(r->seconds));
	else if (code < 0)
		err_set(e, "CRIU could not %s the program: %s", what,
			code == BOUNDED_RUN_KILLED ? "a signal ended criu" : "criu could not be started");
	else if (code > 0)
		read_error(text, what, e);
	free(text);
	free(program);
	return code == 0;
}

/* Have CRIU save the program into ROTA_CHECKPOINT_DIR. The program goes on afterwards, also if CRIU could not save it. */
static bool save_program(const char *folder, int seconds, struct err *e)
{
	char tree[16], *self = realpath("/proc/self/exe", NULL);
	char *more[] = {(char *)"--tree",
			tree,
			(char *)"--leave-running",
			(char *)"--ghost-limit=256M",
			(char *)"--action-script",
			self,
			NULL};
	struct criu_run r = {.folder = folder, .seconds = seconds, .run = open_run(e), .images = -1};
	snprintf(tree, sizeof tree, "%d", CRIU_INIT_PROGRAM);
	if (r.run >= 0)
		r.images = open_variable("ROTA_CHECKPOINT_DIR", e);
	bool good = r.images >= 0 && run_criu(&r, "save", more, e);
	if (r.images >= 0)
		close(r.images);
	if (r.run >= 0)
		close(r.run);
	free(self);
	return good;
}

/* Serve one connection to the socket: have the program saved within the seconds that the peer sends, and answer "ok" or why it
 * was not. */
static void serve_connection(const char *folder, int fd)
{
	struct err e = {.message = "ok"};
	char text[16] = "";
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = READ_S}, sizeof(struct timeval));
	if (!criu_socket_is_own(fd) || recv(fd, text, sizeof text - 1, 0) <= 0)
		return;
	int seconds = atoi(text);
	umask(077); /* images have the secrets of the program */
	save_program(folder, seconds > 0 ? seconds : 1, &e);
	if (send(fd, e.message, strlen(e.message), MSG_NOSIGNAL) < 0)
		return; /* the client has disconnected */
}

/* Accept a connection, and serve it in a process of its own. */
static void accept_one(const char *folder, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	pid_t pid = fd >= 0 ? fork() : -1;
	if (pid == 0) {
		serve_connection(folder, fd);
		_exit(0);
	}
	if (fd >= 0)
		close(fd);
}

/* Show the keeper, by the name of this process, which signal has ended the program. Returns the exit code. */
static int signal_tell(int number)
{
	char name[16];
	snprintf(name, sizeof name, "%s%d", CRIU_INIT_SIGNALLED, number);
	prctl(PR_SET_NAME, name);
	return SIGNALLED + number;
}

/* Wait for all children that have ended. Returns the exit code of the program, or -1 if the program still runs. */
static int reap_ended(void)
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
		if (pid == CRIU_INIT_PROGRAM)
			return WIFEXITED(status) ? WEXITSTATUS(status) : signal_tell(WTERMSIG(status));
	return -1;
}

/* Serve connections until the program ends. Returns the exit code. All other processes of the PID namespace end with this one. */
static int serve_until_end(const char *folder, int listener, int signals)
{
	struct pollfd on[] = {{.fd = signals, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
	int code;
	while ((code = reap_ended()) < 0) {
		struct signalfd_siginfo info;
		if (poll(on, 2, -1) < 0 && errno != EINTR)
			return CHECKPOINT_EXIT_WRONG;
		if ((on[0].revents & POLLIN) && read(signals, &info, sizeof info) < 0)
			continue;
		if (on[1].revents & POLLIN)
			accept_one(folder, listener);
	}
	return code;
}

/* In the child process: give up the capabilities, which only CRIU needs, and execute the program. */
static void become_program(char **argv, const sigset_t *none)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}, {0}};
	if (getpid() != CRIU_INIT_PROGRAM || setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || syscall(SYS_capset, &head, sets) < 0) {
		fprintf(stderr, "rota-checkpoint: could not prepare the program for CRIU\n");
		_exit(CHECKPOINT_EXIT_WRONG);
	}
	sigprocmask(SIG_SETMASK, none, NULL);
	execv(argv[0], argv);
	fprintf(stderr, "rota-checkpoint: could not execute \"%s\": %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static bool start_program(char **argv, const sigset_t *before, struct err *e)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	char text[16];
	snprintf(text, sizeof text, "%d", CRIU_INIT_PROGRAM - 1);
	bool good = (fd >= 0 && write(fd, text, strlen(text)) > 0) ||
		    err_sys(e, "could not choose the number of the program's process");
	if (fd >= 0)
		close(fd);
	pid_t pid = good ? fork() : -1;
	if (pid == 0)
		become_program(argv, before);
	return good && (pid > 0 || err_sys(e, "could not fork the program"));
}

/* Report that this checkpoint was not restored here. Its files are intact, so another node, or this one later, may restore it. */
static void report_failure(const struct err *e)
{
	struct err unsent;
	json_t *report = json_pack("{s:i, s:s}", "generation", atoi(checkpoint_step_variable("ROTA_CHECKPOINT_GENERATION")),
				   "message", e->message);
	json_decref(checkpoint_call(getenv("ROTA_CONFIG"), "unmet", report, CALL_LONG_S, &unsent));
}

static bool restore_program(const char *folder, int seconds, int run, struct err *e)
{
	char *more[] = {(char *)"--restore-detached", (char *)"--restore-sibling", NULL};
	struct criu_run r = {.folder = folder, .seconds = seconds, .run = run, .images = open_variable("ROTA_RESTART_DIR", e)};
	bool good = r.images >= 0 && criu_files_cut(r.images, e) && run_criu(&r, "restore", more, e);
	if (r.images >= 0)
		close(r.images);
	if (!good)
		report_failure(e);
	return good;
}

/* CRIU runs this at each of its stages. At the stage post-dump, the processes are saved and still stopped, so the sizes of their
 * files are those of the checkpoint. */
int criu_init_script(void)
{
	struct err e;
	if (strcmp(checkpoint_step_variable("CRTOOLS_SCRIPT_ACTION"), "post-dump") != 0)
		return 0;
	int images = open_variable("ROTA_CHECKPOINT_DIR", &e);
	bool good = images >= 0 && criu_files_note(CRIU_INIT_PROGRAM, images, &e);
	if (images >= 0)
		close(images);
	return good ? 0 : checkpoint_step_error(&e);
}

int criu_init_main(int argc, char **argv)
{
	struct err e;
	sigset_t child, before;
	bool launches = argc >= 3 && strcmp(argv[0], "launch") == 0;
	if (!launches && !(argc == 3 && strcmp(argv[0], "restore") == 0))
		return CHECKPOINT_EXIT_WRONG;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), run = open_run(&e),
	    listener = run >= 0 ? criu_socket_listen(run, &e) : -1;
	bool started = signals >= 0 && listener >= 0 &&
		       (launches ? start_program(argv + 2, &before, &e) : restore_program(argv[1], atoi(argv[2]), run, &e));
	if (started)
		return serve_until_end(argv[1], listener, signals);
	checkpoint_step_error(&e);
	return CHECKPOINT_EXIT_AGAIN; /* the step is queued again, which is counted */
}
