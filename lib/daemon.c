/* daemon.c - pid files, which let only one daemon of a name run, and the change of a daemon from root to its account.
 *
 * Called by: every daemon's main (daemon_lock once, behind its last fork; daemon_become once, where root started it); `rota
 * status` and `rota down` (daemon_holder, to find the process).
 * Invariants:
 * - The lock is a POSIX record lock: children (the launcher's keepers) do not inherit it, so it ends with the daemon's own
 *   process.
 * - The kernel names the process that has the lock. The pid in the file is for people only.
 * - Other users may not open the pid file: a reader could take a shared lock, and so prevent the start of a daemon or pass for
 *   it. */
#include "lib/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTE_SIZE = 128 };

static const struct flock whole_file = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

/* The pid file that this process has locked. It is never opened again, since closing any descriptor of a file drops the record
 * locks that the process has on it. */
static struct {
	dev_t device;
	ino_t inode;
	pid_t pid;
	int fd;
} held;

/* Open and lock the pid file PATH. Returns -1 if that fails, or if another process removed or replaced the file between the
 * two. */
static int file_lock(const char *path, struct err *e)
{
	struct stat named, opened;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		err_sys(e, "could not open pid file \"%s\"", path);
		return -1;
	}
	struct flock lock = whole_file;
	if (fcntl(fd, F_SETLK, &lock) < 0) {
		bool taken = errno == EACCES || errno == EAGAIN;
		if (!taken)
			err_sys(e, "could not lock pid file \"%s\"", path);
		else if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
			err_set(e, "pid file \"%s\" is held by process %ld, which runs already", path, (long)lock.l_pid);
		else
			err_set(e, "pid file \"%s\" is held by another process", path);
	} else if (stat(path, &named) < 0 || fstat(fd, &opened) < 0 || named.st_ino != opened.st_ino ||
		   named.st_dev != opened.st_dev)
		err_set(e, "pid file \"%s\" was removed meanwhile", path);
	else
		return fd;
	close(fd);
	return -1;
}

static bool number_write(int fd)
{
	char text[64];
	int length = snprintf(text, sizeof text, "%ld %s\n", (long)getpid(), ROTA_VERSION);
	return ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) == length;
}

bool daemon_note(const char *text, struct err *e)
{
	char line[NOTE_SIZE];
	int length = snprintf(line, sizeof line, "%ld %s %s", (long)getpid(), ROTA_VERSION, text);
	if (length >= NOTE_SIZE)
		return err_set(e, "the note \"%s\" is too long for the pid file", text);
	memset(line + length, ' ', (size_t)(NOTE_SIZE - length));
	line[NOTE_SIZE - 1] = '\n';
	return pwrite(held.fd, line, NOTE_SIZE, 0) == NOTE_SIZE || err_sys(e, "could not change the pid file");
}

bool daemon_lock(const char *path, struct err *e)
{
	int fd = file_lock(path, e);
	if (fd < 0)
		return false;
	struct stat st;
	if (fchmod(fd, 0600) < 0 || !number_write(fd) || fstat(fd, &st) < 0) {
		err_sys(e, "could not write pid file \"%s\"", path);
		close(fd);
		return false;
	}
	held.device = st.st_dev;
	held.inode = st.st_ino;
	held.pid = getpid();
	held.fd = fd;
	return true; /* fd stays open: it is the lock */
}

int daemon_seize(const char *path)
{
	struct err e;
	return file_lock(path, &e);
}

pid_t daemon_holder(const char *path)
{
	struct stat st;
	if (held.pid == getpid() && stat(path, &st) == 0 && st.st_dev == held.device && st.st_ino == held.inode)
		return held.pid;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	struct flock lock = whole_file;
	bool taken = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	close(fd);
	return taken ? lock.l_pid : 0;
}

char *daemon_version(const char *path)
{
	char text[64] = "";
	FILE *file = daemon_holder(path) ? fopen(path, "re") : NULL;
	if (file && fscanf(file, "%*d %63s", text) != 1)
		text[0] = '\0';
	if (file)
		fclose(file);
	return xstrdup(text);
}

/* Set HOME, USER and LOGNAME for an account, as a login does. */
static void become_environment(const struct passwd *pw)
{
	setenv("HOME", pw->pw_dir, 1);
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
}

char *daemon_beside(const char *name, struct err *e)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	self[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(self, '/');
	if (slash)
		return xasprintf("%.*s/%s", (int)(slash - self), self, name);
	err_sys(e, "could not find the folder of this program");
	return NULL;
}

bool daemon_become(const char *account, struct err *e)
{
	if (!*account)
		return true;
	errno = 0;
	const struct passwd *pw = getpwnam(account);
	if (!pw && errno)
		return err_sys(e, "could not look up the system account \"%s\"", account);
	if (!pw)
		return err_set(e, "account \"%s\" does not exist", account);
	if (pw->pw_uid == geteuid())
		return true;
	if (geteuid() != 0) {
		err_set(e, "only root can become account \"%s\"", account);
		return err_hint(e, "start the daemon as root or as \"%s\"", account);
	}
	if (initgroups(pw->pw_name, pw->pw_gid) < 0 || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0)
		return err_sys(e, "could not become account \"%s\"", account);
	if (setuid(0) == 0 || seteuid(0) == 0)
		die("account \"%s\" can become root again", account);
	become_environment(pw);
	return true;
}
