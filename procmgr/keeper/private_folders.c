/* private_folders.c - gives a step a /tmp and a /dev/shm of its own (private_folders.h).
 *
 * Called by: keeper.c for each attempt; task.c for each process of the user; the launcher at its start.
 * Invariants:
 * - The folder that a step sees is in a folder that only root can enter. So no other user, and no other step, reaches it by a path.
 * - Each process of the user has a mount namespace. Mounts of the machine appear in it, its own mounts do not appear outside.
 * - To remove what a step has left, root follows no path that the step has made: a process of another step may still hold an open
 *   folder, and put links there. */
#include "procmgr/keeper/private_folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"

static const char *const places[PRIVATE_FOLDERS] = {"/tmp", "/dev/shm"};
static const char inner[] = "files";

enum { INNER_SIZE = sizeof(struct private_folders) + sizeof inner };

static void inner_path(const struct private_folders *f, int i, char path[INNER_SIZE])
{
	snprintf(path, INNER_SIZE, "%s/%s", f->path[i], inner);
}

bool private_folders_make(struct private_folders *f, struct err *e)
{
	char path[INNER_SIZE];
	for (int i = 0; i < PRIVATE_FOLDERS; i++) {
		snprintf(f->path[i], sizeof f->path[i], "%s/rota-private.XXXXXX", places[i]);
		if (!mkdtemp(f->path[i])) {
			*f->path[i] = '\0';
			return err_sys(e, "could not make a private folder in \"%s\"", places[i]);
		}
		inner_path(f, i, path);
		if (mkdir(path, 0700) < 0 || chmod(path, 01777) < 0)
			return err_sys(e, "could not make folder \"%s\"", path);
	}
	return true;
}

bool private_folders_enter(const struct private_folders *f, struct err *e)
{
	char path[INNER_SIZE];
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return err_sys(e, "could not make a mount namespace");
	for (int i = 0; i < PRIVATE_FOLDERS; i++) {
		inner_path(f, i, path);
		if (mount(path, places[i], NULL, MS_BIND, NULL) < 0)
			return err_sys(e, "could not put \"%s\" in the place of \"%s\"", path, places[i]);
	}
	return true;
}

/* Remove the entries of a folder. Folders in it are moved to `top` first, so the depth of the tree does not matter. Returns false if
 * an entry could not be removed or moved. */
static bool empty_folder(int folder, int top, int *number)
{
	char name[32];
	bool emptied = true;
	DIR *dir = fdopendir(folder);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			continue;
		int moved;
		do {
			snprintf(name, sizeof name, "left.%d", ++*number);
			moved = renameat2(dirfd(dir), entry->d_name, top, name, RENAME_NOREPLACE);
		} while (moved < 0 && errno == EEXIST); /* the user has an entry of this name */
		emptied = moved == 0 && emptied;
	}
	if (dir)
		closedir(dir);
	else
		close(folder);
	return dir && emptied;
}

/* Remove the folders in `top` and all that is in them. Returns false if something could not be removed. */
static bool remove_folders(int top)
{
	bool removed = true, any = true;
	int number = 0;
	while (removed && any) {
		int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = again < 0 ? NULL : fdopendir(again);
		any = false;
		removed = dir != NULL;
		for (struct dirent *entry; removed && (entry = readdir(dir));) {
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			int folder = openat(top, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			any = true;
			removed = folder >= 0 && empty_folder(folder, top, &number) &&
				  unlinkat(top, entry->d_name, AT_REMOVEDIR) == 0;
		}
		if (dir)
			closedir(dir);
	}
	return removed;
}

bool private_folders_empty(int top)
{
	int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0); /* fails for folders, which remove_folders() removes */
	if (dir)
		closedir(dir);
	return dir && remove_folders(top);
}

void private_folders_remove(struct private_folders *f)
{
	for (int i = 0; i < PRIVATE_FOLDERS; i++) {
		int top = *f->path[i] ? open(f->path[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		bool removed = !*f->path[i] || (top >= 0 && remove_folders(top) && rmdir(f->path[i]) == 0);
		if (!removed)
			log_warning("could not remove \"%s\": %m", f->path[i]);
		if (top >= 0)
			close(top);
		*f->path[i] = '\0';
	}
}

bool private_folders_hide(const char *path)
{
	for (int i = 0; i < PRIVATE_FOLDERS; i++) {
		size_t length = strlen(places[i]);
		if (strncmp(path, places[i], length) == 0 && (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}
