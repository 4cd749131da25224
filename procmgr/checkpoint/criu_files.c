/* criu_files.c - the files that a program saved by CRIU writes to, with their sizes (criu_files.h).
 *
 * CRIU opens the files of a restored program again, and refuses a file whose size has changed. A program that went on after its
 * checkpoint may have written more, so the files are cut before.
 *
 * Called by: criu_init.c.
 * Invariants:
 * - The list is a file of the checkpoint, so its digest is compared before it is used. */
#include "procmgr/checkpoint/criu_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/process_tree.h"

static const char list_name[] = ".rota-files";

/* The list of files while it is made. */
struct file_list {
	json_t *files;
	bool failed;
};

/* Add to the list the file of a process's open descriptor, if it is a plain file that is open for writing and has a path. `name`:
 * name of the link in /proc/PID/fd. */
static void note_descriptor(int folder, const char *name, void *arg)
{
	struct file_list *list = arg;
	struct stat link, file;
	char path[PATH_MAX];
	if (fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) < 0 || !(link.st_mode & S_IWUSR) ||
	    fstatat(folder, name, &file, 0) < 0 || !S_ISREG(file.st_mode) || file.st_nlink == 0)
		return;
	ssize_t size = readlinkat(folder, name, path, sizeof path - 1);
	path[size > 0 ? size : 0] = '\0';
	if (*path != '/' || strncmp(path, "/proc/", 6) == 0 ||
	    json_array_append_new(list->files, json_pack("{s:s, s:I}", "path", path, "bytes", (json_int_t)file.st_size)) < 0)
		list->failed = true;
}

static void note_process(pid_t pid, struct file_list *list)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0) {
		list->failed = true;
		return;
	}
	folder_each(folder, note_descriptor, list);
	close(folder);
}

static bool write_list(const json_t *files, int folder, struct err *e)
{
	int fd = openat(folder, list_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool written = fd >= 0 && json_dumpfd(files, fd, JSON_COMPACT) == 0;
	if (!written)
		err_sys(e, "could not write file \"%s\"", list_name);
	if (fd >= 0)
		close(fd);
	return written;
}

bool criu_files_note(pid_t root, int folder, struct err *e)
{
	int count;
	struct file_list list = {json_array(), false};
	struct process_item *all = process_tree_read(&count);
	for (int i = 0; i < count; i++)
		if (process_tree_has(all, count, all[i].pid, root))
			note_process(all[i].pid, &list);
	free(all);
	bool good = list.failed ? err_set(e, "the path of an open file could not be read, or is not UTF-8")
				: write_list(list.files, folder, e);
	json_decref(list.files);
	return good;
}

static bool cut_file(const json_t *row, struct err *e)
{
	const char *path = json_string_value(json_object_get(row, "path"));
	int64_t bytes = json_integer_value(json_object_get(row, "bytes"));
	struct stat s;
	int fd = path ? open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	bool good = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
	if (!good)
		err_sys(e, "could not open file \"%s\", to which the program writes", path ? path : "");
	else if (s.st_size < bytes)
		good = err_set(e, "file \"%s\" has %lld bytes, and had %lld", path, (long long)s.st_size, (long long)bytes);
	else
		good = s.st_size == bytes || ftruncate(fd, bytes) == 0 || err_sys(e, "could not cut file \"%s\"", path);
	if (fd >= 0)
		close(fd);
	return good;
}

bool criu_files_cut(int folder, struct err *e)
{
	const json_t *row;
	size_t i;
	int fd = openat(folder, list_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	json_t *files = fd >= 0 ? json_loadfd(fd, 0, NULL) : NULL;
	bool good = files != NULL || err_set(e, "could not read file \"%s\" of the checkpoint", list_name);
	json_array_foreach (files, i, row)
		good = good && cut_file(row, e);
	json_decref(files);
	if (fd >= 0)
		close(fd);
	return good;
}
