/* log_plain.c - opens the output file of a step for reading (log_plain.h).
 *
 * Called by: log_file.c.
 * Invariants:
 * - The job's owner chooses the path. So root opens it with the rights of the owner, and any other caller with his own rights.
 * - Only a plain file is opened: opening a FIFO or a device may block, or have effects. */
#include "bin/rota/output/log_plain.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/err.h"

/* Open a plain file with the rights of the calling process. */
static int open_plain(const char *path, bool *plain)
{
	int found = open(path, O_PATH | O_CLOEXEC), fd = -1, error = 0;
	char again[64];
	struct stat st;

	*plain = true;
	if (found < 0)
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	*plain = !fstat(found, &st) && S_ISREG(st.st_mode);
	if (*plain)
		fd = open(again, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	error = *plain ? errno : EINVAL;
	close(found);
	errno = error;
	return fd;
}

/* Take the rights of a user for the calls that follow. Returns false with errno set. */
static bool rights_take(const struct passwd *user)
{
	return !initgroups(user->pw_name, user->pw_gid) && !setegid(user->pw_gid) && !seteuid(user->pw_uid);
}

/* Return to the rights of root, with its supplementary groups. */
static void rights_return(const gid_t *groups, int count)
{
	if (seteuid(0) || setegid(getgid()) || setgroups((size_t)count, groups))
		die("could not return to the rights of root: %m");
}

int log_plain_open(const char *path, const char *owner, bool *plain)
{
	const struct passwd *user = !geteuid() && owner ? getpwnam(owner) : NULL;
	gid_t groups[NGROUPS_MAX];
	int count, fd = -1, error;

	if (!user || !user->pw_uid)
		return open_plain(path, plain);
	*plain = true;
	count = getgroups(NGROUPS_MAX, groups);
	if (count < 0)
		return -1;
	if (rights_take(user))
		fd = open_plain(path, plain);
	error = errno;
	rights_return(groups, count);
	errno = error;
	return fd;
}
