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
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/proc_file.h"

/* A process of which threads were searched. None of these has a device. */
struct searched_process {
	pid_t process;
	pid_t thread; /* the last thread whose descriptors were read; 0: none */
	bool mapped;  /* its memory maps were read */
};

struct device_search {
	const struct device_set *set;
	struct searched_process *list;
	int count, capacity;
};

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

/* Is the file a regular file or a folder of a FUSE file system that does not even tell root the type of its files? The answer comes from
 * the kernel, since the server may be one of the stopped processes. The mount is nodev, as all are that users make, so none of its
 * files was opened as a device. Where root has mounted it without nodev, the user may have added that since; so the kernel must also
 * take the file for one that can have attributes of users, which no device can (xattr(7)). */
static bool is_fuse_file(int folder, const char *link)
{
	char path[48];
	struct statx st;
	struct statfs system;
	int fd = openat(folder, link, O_PATH | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	bool is_file = fd >= 0 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 && errno == EACCES &&
		       fstatfs(fd, &system) == 0 && system.f_type == FUSE_SUPER_MAGIC && (system.f_flags & ST_NODEV) &&
		       getxattr(path, "user.rota", NULL, 0) < 0 && errno == EACCES;
	if (fd >= 0)
		close(fd);
	return is_file;
}

/* Is the file that the link leads to a device of the set? True also if that is unknown. */
static bool link_has(int folder, const char *link, const struct device_set *set)
{
	struct statx st;
	if (statx(folder, link, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0)
		return set_has(set, &st);
	return is_unknown() && !(errno == EACCES && is_fuse_file(folder, link));
}

/* Is one of the links in /proc/THREAD/NAME a device of the set? `any` is true if the folder has links. */
static bool folder_has(pid_t thread, const char *name, const struct device_set *set, bool *any)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/%s", (long)thread, name);
	*any = false;
	DIR *dir = opendir(path);
	if (!dir)
		return is_unknown();
	bool found = false;
	for (struct dirent *entry; !found && (entry = readdir(dir));) {
		if (*entry->d_name == '.')
			continue;
		*any = true;
		found = link_has(dirfd(dir), entry->d_name, set);
	}
	closedir(dir);
	return found;
}

struct device_search *device_users_begin(const struct device_set *set)
{
	struct device_search *search = xcalloc(1, sizeof *search);
	search->set = set;
	return search;
}

void device_users_end(struct device_search *search)
{
	free(search->list);
	free(search);
}

/* Returns the record of the process to which the thread belongs; adds one if the search has not come to this process yet. */
static struct searched_process *find_searched(struct device_search *search, pid_t thread)
{
	char status[1024];
	proc_file_read(thread, "status", status, sizeof status);
	int64_t process = proc_file_number(status, "Tgid:");
	if (process <= 0)
		process = thread;
	for (int i = search->count - 1; i >= 0; i--)
		if (search->list[i].process == process)
			return &search->list[i];
	if (search->count == search->capacity) {
		search->capacity = search->capacity ? 2 * search->capacity : 64;
		search->list = xrealloc(search->list, (unsigned long)search->capacity * sizeof *search->list);
	}
	search->list[search->count] = (struct searched_process){.process = (pid_t)process};
	return &search->list[search->count++];
}

/* A thread of a process may have its own descriptors (unshare(CLONE_FILES)). If the kernel does not compare, assume that it has. */
static bool shares_descriptors(pid_t thread, pid_t other)
{
	return other > 0 && syscall(SYS_kcmp, thread, other, KCMP_FILES, 0, 0) == 0;
}

/* All threads of a process share its memory. One that has ended has no maps, so it does not stand for the others. */
bool device_users_has(pid_t thread, const void *data)
{
	struct device_search *search = *(struct device_search *const *)data;
	struct searched_process *process = find_searched(search, thread);
	bool any;
	if (!shares_descriptors(thread, process->thread)) {
		process->thread = thread;
		if (folder_has(thread, "fd", search->set, &any))
			return true;
	}
	return geteuid() == 0 && !process->mapped && folder_has(thread, "map_files", search->set, &process->mapped);
}
