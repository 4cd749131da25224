/* fence_file.c - files of control groups.
 *
 * Called by fence.c. To find a file by its path costs more than to read it or write to it, and of a group that goes from one attempt of a
 * keeper to the next the same few are read and written each time: those stay open. A file and a folder stay what they are when the group is
 * renamed. What always holds: what is open belongs to one group, which this process has made; a child that shares our memory may use
 * it, and changes nothing here. The list of processes is never kept open: read again through the same descriptor, it may be old. */
#include "procmgr/keeper/fence_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procmgr/record/record.h"

enum { HELD_MOST = 16 };

static struct {
	char key[RECORD_KEY_SIZE]; /* "": nothing is open */
	struct held {
		const char *dir, *name; /* NULL: `dir` itself */
		bool reads, writes;
		int fd;
	} files[HELD_MOST];
	int count;
} held;

static int held_file(const char *dir, const char *key, const char *name, bool write)
{
	if (!*held.key || strcmp(held.key, key) != 0)
		return -1;
	for (int i = 0; i < held.count; i++) {
		const struct held *file = &held.files[i];
		if (file->dir == dir && file->name && (write ? file->writes : file->reads) && strcmp(file->name, name) == 0)
			return file->fd;
	}
	return -1;
}

/* Where `dir` itself is open; else from the top. */
static int held_folder(const char *dir)
{
	for (int i = 0; i < held.count; i++)
		if (held.files[i].dir == dir && !held.files[i].name)
			return held.files[i].fd;
	return -1;
}

static int file_open(const char *dir, const char *key, const char *name, int flags)
{
	char path[FENCE_PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s/%s", dir, key, name);
	return open(path, flags | O_CLOEXEC);
}

bool fence_file_read(const char *dir, const char *key, const char *name, char value[FENCE_VALUE_SIZE])
{
	int open = held_file(dir, key, name, false), fd = open >= 0 ? open : file_open(dir, key, name, O_RDONLY);
	if (fd < 0)
		return false;
	ssize_t size = pread(fd, value, FENCE_VALUE_SIZE - 1, 0);
	if (open < 0)
		close(fd);
	value[size > 0 ? size : 0] = '\0';
	return size >= 0;
}

bool fence_file_write(const char *dir, const char *key, const char *name, const char *value)
{
	int open = held_file(dir, key, name, true), fd = open >= 0 ? open : file_open(dir, key, name, O_WRONLY);
	if (fd < 0)
		return false;
	bool written = pwrite(fd, value, strlen(value), 0) >= 0;
	if (open < 0)
		close(fd);
	return written;
}

int64_t fence_file_number(const char *dir, const char *key, const char *name, const char *word)
{
	char value[FENCE_VALUE_SIZE];
	if (!dir || !fence_file_read(dir, key, name, value))
		return -1;
	const char *at = value;
	size_t length = strlen(word);
	while (length > 0 && at && !(strncmp(at, word, length) == 0 && at[length] == ' '))
		at = (at = strchr(at, '\n')) ? at + 1 : NULL;
	if (!at || !isdigit((unsigned char)at[length > 0 ? length + 1 : 0]))
		return -1;
	return strtoll(at + (length > 0 ? length + 1 : 0), NULL, 10);
}

void fence_file_drop(const char *key)
{
	if (strcmp(held.key, key) != 0)
		return;
	for (int i = 0; i < held.count; i++)
		close(held.files[i].fd);
	held.count = 0;
	*held.key = '\0';
}

void fence_file_hold(const char *dir, const char *key, const char *name, int flags)
{
	if (strcmp(held.key, key) != 0)
		fence_file_drop(held.key);
	int fd = held.count < HELD_MOST ? file_open(dir, name ? key : "", name ? name : "", flags) : -1;
	if (fd < 0)
		return;
	snprintf(held.key, sizeof held.key, "%s", key);
	held.files[held.count++] = (struct held){dir, name, (flags & O_ACCMODE) != O_WRONLY, (flags & O_ACCMODE) != O_RDONLY, fd};
}

bool fence_file_rename(const char *dir, const char *from, const char *key)
{
	char before[FENCE_PATH_SIZE], after[FENCE_PATH_SIZE];
	int folder = held_folder(dir);
	if (folder >= 0)
		return renameat(folder, from, folder, key) == 0;
	snprintf(before, sizeof before, "%s/%s", dir, from);
	snprintf(after, sizeof after, "%s/%s", dir, key);
	return rename(before, after) == 0;
}

void fence_file_renamed(const char *from, const char *key)
{
	if (strcmp(held.key, from) == 0)
		snprintf(held.key, sizeof held.key, "%s", key);
}
