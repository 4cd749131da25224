/* cgroups_file.c - reads and writes files of cgroups, and keeps the files of one cgroup open.
 *
 * Called by: cgroups.c. To find a file by its path costs more than to read it, and a keeper's attempts use the same few files of
 * one cgroup, which stay the same when the cgroup is renamed.
 * Invariants:
 * - The open files are of one cgroup, which this process has made.
 * - A child that shares the memory of the keeper may use the open files, but does not change the list of them.
 * - The list of processes is never kept open: a second read of the same descriptor can return the old list. */
#include "procmgr/keeper/cgroups_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procmgr/record/record.h"

enum { OPEN_MOST = 16 };

static struct {
	char key[RECORD_KEY_SIZE]; /* name of the cgroup whose files are open; "" if no file is open */
	struct open_file {
		/* dir, name: folder and file that `fd` has open; without `name`, `fd` is of the folder `dir` */
		const char *dir, *name;
		bool reads, writes;
		int fd;
	} files[OPEN_MOST];
	int count;
} kept;

static int find_open(const char *dir, const char *key, const char *name, bool write)
{
	if (!*kept.key || strcmp(kept.key, key) != 0)
		return -1;
	for (int i = 0; i < kept.count; i++) {
		const struct open_file *file = &kept.files[i];
		if (file->dir == dir && file->name && (write ? file->writes : file->reads) && strcmp(file->name, name) == 0)
			return file->fd;
	}
	return -1;
}

/* Returns the open descriptor of the folder `dir`, or -1 if the folder is not open. */
static int find_open_folder(const char *dir)
{
	for (int i = 0; i < kept.count; i++)
		if (kept.files[i].dir == dir && !kept.files[i].name)
			return kept.files[i].fd;
	return -1;
}

static int file_open(const char *dir, const char *key, const char *name, int flags)
{
	char path[CGROUPS_PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s/%s", dir, key, name);
	return open(path, flags | O_CLOEXEC);
}

bool cgroups_file_read(const char *dir, const char *key, const char *name, char value[CGROUPS_VALUE_SIZE])
{
	int open = find_open(dir, key, name, false), fd = open >= 0 ? open : file_open(dir, key, name, O_RDONLY);
	if (fd < 0)
		return false;
	ssize_t size = pread(fd, value, CGROUPS_VALUE_SIZE - 1, 0);
	if (open < 0)
		close(fd);
	value[size > 0 ? size : 0] = '\0';
	return size >= 0;
}

bool cgroups_file_write(const char *dir, const char *key, const char *name, const char *value)
{
	int open = find_open(dir, key, name, true), fd = open >= 0 ? open : file_open(dir, key, name, O_WRONLY);
	if (fd < 0)
		return false;
	bool written = pwrite(fd, value, strlen(value), 0) >= 0;
	if (open < 0)
		close(fd);
	return written;
}

int64_t cgroups_file_find(const char *text, const char *word)
{
	const char *at = text;
	size_t length = strlen(word);
	while (length > 0 && at && !(strncmp(at, word, length) == 0 && at[length] == ' '))
		at = (at = strchr(at, '\n')) ? at + 1 : NULL;
	if (!at || !isdigit((unsigned char)at[length > 0 ? length + 1 : 0]))
		return -1;
	return strtoll(at + (length > 0 ? length + 1 : 0), NULL, 10);
}

int64_t cgroups_file_number(const char *dir, const char *key, const char *name, const char *word)
{
	char value[CGROUPS_VALUE_SIZE];
	return dir && cgroups_file_read(dir, key, name, value) ? cgroups_file_find(value, word) : -1;
}

void cgroups_file_close(const char *key)
{
	if (strcmp(kept.key, key) != 0)
		return;
	for (int i = 0; i < kept.count; i++)
		close(kept.files[i].fd);
	kept.count = 0;
	*kept.key = '\0';
}

void cgroups_file_keep_open(const char *dir, const char *key, const char *name, int flags)
{
	if (strcmp(kept.key, key) != 0)
		cgroups_file_close(kept.key);
	int fd = kept.count < OPEN_MOST ? file_open(dir, name ? key : "", name ? name : "", flags) : -1;
	if (fd < 0)
		return;
	snprintf(kept.key, sizeof kept.key, "%s", key);
	kept.files[kept.count++] =
		(struct open_file){dir, name, (flags & O_ACCMODE) != O_WRONLY, (flags & O_ACCMODE) != O_RDONLY, fd};
}

bool cgroups_file_rename(const char *dir, const char *from, const char *key)
{
	char before[CGROUPS_PATH_SIZE], after[CGROUPS_PATH_SIZE];
	int folder = find_open_folder(dir);
	if (folder >= 0)
		return renameat(folder, from, folder, key) == 0;
	snprintf(before, sizeof before, "%s/%s", dir, from);
	snprintf(after, sizeof after, "%s/%s", dir, key);
	return rename(before, after) == 0;
}

void cgroups_file_renamed(const char *from, const char *key)
{
	if (strcmp(kept.key, from) == 0)
		snprintf(kept.key, sizeof kept.key, "%s", key);
}
