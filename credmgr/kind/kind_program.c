/* kind_program.c - programs that rota-credential runs (kind_program.h).
 *
 * Invariants:
 * - A program inherits only its standard files and, if it gets one, descriptor 3.
 * - The output of a program goes to a memory file of limited size, so the program cannot block, and cannot fill the memory of the
 *   host. */
#include "credmgr/kind/kind_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/text.h"

enum { PROGRAM_SHOWN = 200 /* most bytes of the program's standard error in a message */ };
enum { PROGRAM_INPUT, PROGRAM_OUTPUT, PROGRAM_ERROR, PROGRAM_FILE, PROGRAM_FILES, PROGRAM_UNSTARTED = 127 };

/* In the new process: become the program. */
static void program_become(const struct kind_program *p, const int files[PROGRAM_FILES])
{
	const struct rlimit most = {KIND_MOST, KIND_MOST};
	int count = p->file >= 0 ? PROGRAM_FILES : PROGRAM_FILE, high[PROGRAM_FILES];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	setrlimit(RLIMIT_FSIZE, &most);
	/* move the files to high descriptors first, away from the descriptors that the program gets */
	for (int i = 0; i < count; i++)
		high[i] = fcntl(files[i], F_DUPFD, PROGRAM_FILES);
	for (int i = 0; i < count; i++)
		dup2(high[i], i);
	close_range((unsigned)count, ~0U, 0);
	execve(p->path, p->arguments, p->environment);
	dprintf(STDERR_FILENO, "%s", strerror(errno));
	_exit(PROGRAM_UNSTARTED);
}

static void program_read_error(int fd, char *text, size_t size)
{
	off_t length = lseek(fd, 0, SEEK_END), begin = length < (off_t)size ? 0 : length - (off_t)size + 1;
	ssize_t got = pread(fd, text, size - 1, begin);

	text[got > 0 ? got : 0] = '\0';
	text_clean(text);
	while (*text && strchr("\n\t ", text[strlen(text) - 1]))
		text[strlen(text) - 1] = '\0';
}

bool kind_program_run(const struct kind_program *p, struct kind_result *result, struct err *e)
{
	int files[PROGRAM_FILES] = {kind_secret_file(p->input, p->input_size), kind_secret_file("", 0), kind_secret_file("", 0),
				    p->file};
	pid_t pid;
	bool good;

	*result = (struct kind_result){0};
	pid = fork();
	if (pid == 0)
		program_become(p, files);
	while (pid > 0 && waitpid(pid, &result->status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0)
		program_read_error(files[PROGRAM_ERROR], result->error, sizeof result->error);
	if (pid < 0)
		good = err_sys(e, "program %s could not be started", p->path);
	else if (WIFEXITED(result->status) && WEXITSTATUS(result->status) == PROGRAM_UNSTARTED)
		good = err_set(e, "program %s could not be started: %s", p->path, result->error);
	else
		good = lseek(files[PROGRAM_OUTPUT], 0, SEEK_SET) == 0 &&
		       kind_secret_read(files[PROGRAM_OUTPUT], &result->output, e);
	for (int i = 0; i < PROGRAM_FILE; i++)
		close(files[i]);
	return good;
}

void kind_program_free(struct kind_result *result)
{
	kind_secret_free(&result->output);
}

bool kind_program_good(const struct kind_result *result, const char *what, struct err *e)
{
	size_t size = strlen(result->error);
	const char *colon = size ? ": " : "", *end = result->error + (size > PROGRAM_SHOWN ? size - PROGRAM_SHOWN : 0);

	if (WIFSIGNALED(result->status) && WTERMSIG(result->status) == SIGXFSZ)
		return err_set(e, "program %s wrote more than 1 MiB", what);
	if (WIFSIGNALED(result->status))
		return err_set(e, "program %s was ended by signal %d%s%s", what, WTERMSIG(result->status), colon, end);
	if (WEXITSTATUS(result->status) != 0)
		return err_set(e, "program %s exited with status %d%s%s", what, WEXITSTATUS(result->status), colon, end);
	return true;
}
