/* device_users.c - finds processes that have devices open (device_users.h).
 *
 * Called by: keeper_devices.c, for stopped processes.
 * Invariants:
 * - No device is opened: the files in /proc are only looked up.
 * - No server of a file system is asked, since it may be one of the stopped processes. */
#include "procmgr/keeper/device_users.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool set_has(const struct device_set *set, const struct statx *st)
{
	char type = S_ISCHR(st->stx_mode) ? 'c' : S_ISBLK(st->stx_mode) ? 'b' : '\0';
	for (int i = 0; type && i < set->count; i++)
		if (set->list[i].type == type && set->list[i].major == (int)st->stx_rdev_major &&
		    set->list[i].minor == (int)st->stx_rdev_minor)
			return true;
	return false;
}

/* Does the last error leave open whether a process has a device? Not if the process or its file is gone. Without root, a process
 * that has ended and was not waited for cannot be read. */
static bool is_unknown(void)
{
	return errno != ENOENT && errno != ESRCH && geteuid() == 0;
}

/* Is one of the links in /proc/PID/NAME a device of the set? */
static bool folder_has(pid_t process, const char *name, const struct device_set *set)
{
	char path[64];
	struct statx st;
	snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, name);
	DIR *dir = opendir(path);
	if (!dir)
		return is_unknown();
	bool found = false;
	for (struct dirent *entry; !found && (entry = readdir(dir));)
		if (*entry->d_name != '.')
			found = statx(dirfd(dir), entry->d_name, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 ? set_has(set, &st)
													   : is_unknown();
	closedir(dir);
	return found;
}

bool device_users_has(pid_t process, const void *set)
{
	return folder_has(process, "fd", set) || (geteuid() == 0 && folder_has(process, "map_files", set));
}
