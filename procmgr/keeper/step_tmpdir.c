/* step_tmpdir.c - makes and removes the folder TMPDIR of an attempt (step_tmpdir.h).
 *
 * Called by: keeper.c for each attempt that asks for it; launcher_tmpdir.c for attempts whose keepers have died.
 * Invariants:
 * - Only root, or the account of the launcher, can change the folder `base`. So nobody else gives or takes away names in it.
 * - The folder is found by node and attempt alone, so the launcher finds it when the keeper has died.
 * - To remove what a step has left, root follows no path that the step has made (private_folders_empty). */
#include "procmgr/keeper/step_tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/trust.h"
#include "procmgr/keeper/private_folders.h"

/* Returns the name of the folder, malloc'ed: "n1.812.0.1". Virtual nodes share `base`. */
static char *folder_name(const char *node, const struct record_key *key)
{
	char text[RECORD_KEY_SIZE];
	record_key_text(key, text);
	return xasprintf("%s.%s", node, text);
}

/* Open `base` (node.tmpdir), in which the folders of attempts are. Returns a descriptor, or -1 with an error. */
static int base_open(const char *base, struct err *e)
{
	struct stat s;
	if (!*base) {
		err_set(e, "node.tmpdir is not set here, so there is no folder for --tmpdir");
		return -1;
	}
	int fd = trust_file(base, geteuid(), e) ? open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0 && fstat(fd, &s) == 0 && !(s.st_mode & 022))
		return fd;
	if (fd >= 0) {
		err_set(e, "others may write to folder \"%s\" (node.tmpdir)", base);
		close(fd);
	}
	return -1;
}

static bool folder_make(int base, const char *name, uid_t uid, gid_t gid)
{
	int fd = mkdirat(base, name, 0700) == 0 ? openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	bool made = fd >= 0 && (geteuid() != 0 || fchown(fd, uid, gid) == 0);
	if (fd >= 0)
		close(fd);
	return made;
}

char *step_tmpdir_make(const char *base, const char *node, const struct record_key *key, uid_t uid, gid_t gid, struct err *e)
{
	struct err why;
	int fd = base_open(base, &why);
	char *name = folder_name(node, key), *path = NULL;
	if (fd < 0)
		err_set(e, "could not make a TMPDIR in node.tmpdir: %s", why.message);
	else if (!folder_make(fd, name, uid, gid))
		err_sys(e, "could not make folder \"%s/%s\"", base, name);
	else
		path = xasprintf("%s/%s", base, name);
	if (fd >= 0)
		close(fd);
	free(name);
	return path;
}

/* Remove the folder `name` in `base`, which is open as `above`, with all that is in it. */
static void folder_remove(int above, const char *base, const char *name)
{
	int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Take the folder from the user, whose processes could otherwise go on making entries while it is being emptied. */
	if (fd >= 0 && (fchown(fd, geteuid(), getegid()) < 0 || fchmod(fd, 0700) < 0))
		log_warning("could not close \"%s/%s\" to its owner: %m", base, name);
	if (fd >= 0 && (!private_folders_empty(fd) || unlinkat(above, name, AT_REMOVEDIR) < 0))
		log_warning("could not remove \"%s/%s\": %m", base, name);
	if (fd >= 0)
		close(fd);
}

void step_tmpdir_remove(const char *base, const char *node, const struct record_key *key)
{
	int above = *base ? open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	char *name = folder_name(node, key);
	if (above >= 0) {
		folder_remove(above, base, name);
		close(above);
	}
	free(name);
}

void step_tmpdir_sweep(const char *base, const char *node, bool (*is_over)(const struct record_key *key))
{
	struct err e;
	struct record_key key;
	size_t length = strlen(node);
	int above = base_open(base, &e);
	DIR *dir = above < 0 ? NULL : fdopendir(above);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		const char *name = entry->d_name;
		if (strncmp(name, node, length) == 0 && name[length] == '.' && record_key_parse(name + length + 1, &key) &&
		    is_over(&key))
			folder_remove(above, base, name);
	}
	if (dir)
		closedir(dir);
	else
		log_warning("could not look for left folders in node.tmpdir: %s", above < 0 ? e.message : "it cannot be listed");
}
