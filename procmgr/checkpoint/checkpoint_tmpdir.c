/* checkpoint_tmpdir.c - saves the step's own TMPDIR with a checkpoint, and restores it, by GNU tar (checkpoint_tmpdir.h).
 *
 * Called by: checkpoint.c.
 * Invariants:
 * - Only what belongs to this user is saved. Folders are opened by descriptors, and no symbolic link is followed.
 * - The archive is a file of the checkpoint like any other: it has a digest, and is compared before it is used.
 * - Restored files belong to this user, whatever the archive says. */
#include "procmgr/checkpoint/checkpoint_tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_folder.h"

/* tar exits with 1 if a file has changed while it was read. That may happen, since a program may run on while it is saved. */
enum { TAR_CHANGED = 1, TRIES = 3 };

static const char archive[] = ".rota-tmpdir.tar";

/* The list of file names for tar. */
struct names {
	FILE *out;
	const char *above; /* path of the folder that is being walked, from the top of the walk */
};

static void name_entry(int folder, const char *name, void *arg)
{
	struct names *names = arg;
	struct stat s;
	if (fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) < 0 || s.st_uid != geteuid() || S_ISSOCK(s.st_mode))
		return;
	char *path = xasprintf("%s/%s", names->above, name);
	fwrite(path, 1, strlen(path) + 1, names->out);
	int fd = S_ISDIR(s.st_mode) ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd >= 0) {
		folder_each(fd, name_entry, &(struct names){names->out, path});
		close(fd);
	}
	free(path);
}

/* Start tar in a folder, with these descriptors as its standard input and output. Returns its pid. */
static pid_t tar_start(int folder, int input, int output, char *const *argv)
{
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		if (fchdir(folder) == 0 && dup2(input, 0) == 0 && dup2(output, 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* Wait for the process of tar. Returns false with an error if tar failed. `highest`: the highest exit code that is no failure. */
static bool tar_wait(pid_t pid, int highest, struct err *e)
{
	int status = -1;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) <= highest)
		return true;
	return err_set(e, "tar of TMPDIR ended with %s %d", WIFEXITED(status) ? "exit code" : "signal",
		       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* Have tar write an archive of all entries below a folder that belong to this user, to the descriptor `output`. */
static bool tar_create(int folder, int output, struct err *e)
{
	char *argv[] = {(char *)"tar",
			(char *)"--create",
			(char *)"--format=posix",
			(char *)"--sparse",
			(char *)"--null",
			(char *)"--no-recursion",
			(char *)"--files-from=-",
			(char *)"--file=/dev/stdout",
			NULL};
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "could not make a pipe");
	signal(SIGPIPE, SIG_IGN); /* tar may end early */
	pid_t pid = tar_start(folder, ends[0], output, argv);
	close(ends[0]);
	FILE *out = fdopen(ends[1], "w");
	if (out) {
		folder_each(folder, name_entry, &(struct names){out, "."});
		fclose(out);
	} else {
		close(ends[1]);
	}
	return tar_wait(pid, TAR_CHANGED, e);
}

bool tmpdir_save(const char *path, int part, struct err *e)
{
	if (!*path)
		return true;
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return err_sys(e, "could not open TMPDIR \"%s\"", path);
	bool empty = folder_is_empty(folder);
	int file = empty ? -1 : openat(part, archive, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool saved = empty || (file < 0 && err_sys(e, "could not make file \"%s\"", archive));
	/* The program may remove a file between its listing and its reading, which tar takes for a failure. */
	for (int tries = 0; file >= 0 && !saved && tries < TRIES && ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0;
	     tries++)
		saved = tar_create(folder, file, e);
	if (file >= 0)
		close(file);
	close(folder);
	return saved;
}

bool tmpdir_restore(const char *path, const char *from, struct err *e)
{
	char *argv[] = {(char *)"tar",
			(char *)"--extract",
			(char *)"--no-same-owner",
			(char *)"--preserve-permissions",
			(char *)"--file=/dev/stdin",
			NULL};
	int above = *path && from ? open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int file = above < 0 ? -1 : openat(above, archive, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int folder = file < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool restored = file < 0 || (folder < 0 ? err_sys(e, "could not open TMPDIR \"%s\"", path)
						: tar_wait(tar_start(folder, file, 1, argv), 0, e));
	if (folder >= 0)
		close(folder);
	if (file >= 0)
		close(file);
	if (above >= 0)
		close(above);
	return restored;
}
