/* fuse_mounts.c - aborts and detaches the FUSE mounts of a user (fuse_mounts.h).
 *
 * Called by: keeper_sweep.c and launcher_lost.c for processes that cannot be killed; keeper.c at the end of an attempt.
 * Invariants:
 * - Mounts of root and of other users are not touched.
 * - The keeper and the launcher ask no FUSE server for anything, and open no path of the user.
 * - A mount is detached by its identity in the mount table. So nobody can put another mount in its place. */
#include "procmgr/keeper/fuse_mounts.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/log.h"
#include "lib/proc_file.h"

static const char connections[] = "/sys/fs/fuse/connections", table_path[] = "/proc/self/mountinfo";

enum { CONTROL_MAGIC = 0x65735543 };

/* Open the folder that has a folder for each FUSE connection, which belongs to the user of the mount. systemd mounts it; elsewhere
 * root does that here. Returns NULL if the kernel has no FUSE. */
static DIR *open_connections(void)
{
	struct statfs system;
	if (statfs(connections, &system) == 0 && system.f_type != CONTROL_MAGIC)
		mount("none", connections, "fusectl", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	return opendir(connections);
}

/* Write or read one of a connection's files. Returns the number in `value`, or -1 if that fails. */
static long access_file(int folder, const char *connection, const char *name, bool write_it)
{
	char path[64], value[32] = "1";
	snprintf(path, sizeof path, "%.20s/%s", connection, name);
	int fd = openat(folder, path, (write_it ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : write_it ? write(fd, value, 1) : read(fd, value, sizeof value - 1);
	if (fd >= 0)
		close(fd);
	value[size > 0 ? size : 0] = '\0';
	return size > 0 ? strtol(value, NULL, 10) : -1;
}

bool fuse_mounts_hold(pid_t thread, const void *unused)
{
	(void)unused;
	char function[64];
	proc_file_read(thread, "wchan", function, sizeof function);
	return strcmp(function, "request_wait_answer") == 0 || strstr(function, "fuse");
}

void fuse_mounts_abort(uid_t uid)
{
	struct stat st;
	DIR *dir = uid == 0 ? NULL : open_connections();
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		bool waits = isdigit((unsigned char)*entry->d_name) && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
			     st.st_uid == uid && access_file(dirfd(dir), entry->d_name, "waiting", false) > 0;
		if (waits && access_file(dirfd(dir), entry->d_name, "abort", true) > 0)
			log_warning("FUSE connection %s of uid %ld aborted, because processes that wait for it cannot be killed",
				    entry->d_name, (long)uid);
	}
	if (dir)
		closedir(dir);
}

bool fuse_mounts_changed(int *table)
{
	struct pollfd change = {.fd = *table, .events = POLLPRI};
	if (*table > 0)
		return poll(&change, 1, 0) != 0;
	*table = open(table_path, O_RDONLY | O_CLOEXEC);
	if (*table < 0)
		*table = 0;
	return true;
}

/* A FUSE mount of a user. */
struct fuse_mount {
	long id;
	char *path; /* malloc'ed */
};

struct fuse_mount_list {
	struct fuse_mount *list;
	int count;
};

/* Replace the escapes of the mount table: a backslash and three octal digits. */
static void mount_unescape(char *path)
{
	char *to = path;
	for (const char *from = path; *from; to++) {
		unsigned byte = 0;
		bool escaped = *from == '\\' && sscanf(from + 1, "%3o", &byte) == 1;
		*to = escaped ? (char)byte : *from;
		from += escaped ? 4 : 1;
	}
	*to = '\0';
}

/* Read a line of the mount table, "ID PARENT DEVICE ROOT PATH OPTIONS ... - TYPE SOURCE OPTIONS". Returns true for a FUSE mount of the
 * user. */
static bool read_mount(char *line, uid_t uid, struct fuse_mount *mount)
{
	char wanted[32], *rest = strstr(line, " - fuse"), *path = line;
	snprintf(wanted, sizeof wanted, ",user_id=%lu,", (unsigned long)uid);
	if (!rest || !strstr(rest, wanted))
		return false;
	mount->id = strtol(line, NULL, 10);
	for (int i = 0; path && i < 4; i++)
		path = (path = strchr(path, ' ')) ? path + 1 : NULL;
	if (!path || path > rest)
		return false;
	path[strcspn(path, " ")] = '\0';
	mount->path = xstrdup(path);
	mount_unescape(mount->path);
	return true;
}

static struct fuse_mount_list list_mounts(uid_t uid)
{
	struct fuse_mount_list all = {NULL, 0};
	struct fuse_mount mount;
	FILE *table = fopen(table_path, "re");
	char *line = NULL;
	size_t size = 0;
	while (table && getline(&line, &size, table) > 0) {
		if (!read_mount(line, uid, &mount))
			continue;
		all.list = xrealloc(all.list, (unsigned long)(all.count + 1) * sizeof *all.list);
		all.list[all.count++] = mount;
	}
	free(line);
	if (table)
		fclose(table);
	return all;
}

static void free_mounts(struct fuse_mount_list *all)
{
	for (int i = 0; i < all->count; i++)
		free(all->list[i].path);
	free(all->list);
}

/* Is the process a FUSE server, which has /dev/fuse open? */
static bool is_server(const char *pid)
{
	char path[64], target[32];
	snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
	DIR *dir = opendir(path);
	bool found = false;
	for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof target);
		found = length >= 5 && memcmp(target + length - 5, "/fuse", 5) == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool has_server(uid_t uid)
{
	struct stat st;
	bool found = false;
	DIR *dir = opendir("/proc");
	for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
		found = isdigit((unsigned char)*entry->d_name) && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
			st.st_uid == uid && is_server(entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

bool fuse_mounts_are_dead(uid_t uid)
{
	struct fuse_mount_list all = list_mounts(uid);
	bool dead = all.count > 0 && !has_server(uid);
	free_mounts(&all);
	return dead;
}

/* Returns the number of the mount that an open file belongs to, or -1. */
static long mount_of(int fd)
{
	char path[48], line[64];
	long id = -1;
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	FILE *file = fopen(path, "re");
	while (file && id < 0 && fgets(line, sizeof line, file))
		if (sscanf(line, "mnt_id: %ld", &id) != 1)
			id = -1;
	if (file)
		fclose(file);
	return id;
}

static bool mount_detach(const struct fuse_mount *mount)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	char path[32];
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, mount->path, &how, sizeof how);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	bool detached = fd >= 0 && mount_of(fd) == mount->id && umount2(path, MNT_DETACH) == 0;
	if (fd >= 0)
		close(fd);
	return detached;
}

/* Detach in reverse order of the mount table, since a later mount may hide an earlier one. A mount takes those below it along. */
int fuse_mounts_detach(const void *uid)
{
	struct fuse_mount_list all = list_mounts(*(const uid_t *)uid);
	for (int i = all.count - 1; i >= 0; i--)
		if (mount_detach(&all.list[i]))
			dprintf(1, "%s\n", all.list[i].path);
	free_mounts(&all);
	return 0;
}
