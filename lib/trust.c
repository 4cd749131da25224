/* trust.c - checks that nobody can change a file on whose content a daemon relies (trust.h).
 *
 * Called by: the launcher and runnerd at their start, for keys and hook programs; rota-checkpoint, for the folder of images of DMTCP.
 * Invariants: the file, every folder on the way to it, and every symbolic link on the way belong to a trusted user. Others can write
 * neither to the file nor to a folder. In a folder with the sticky bit, they cannot replace what belongs to a trusted user. */
#include "lib/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MOST = 40 };

static bool check_entry(const char *path, const char *entry, const struct stat *st, uid_t account, struct err *e)
{
	bool is_folder = S_ISDIR(st->st_mode), is_sticky = is_folder && (st->st_mode & S_ISVTX);
	const char *what = is_folder ? "folder" : "file";
	errno = EPERM;
	if (st->st_uid != 0 && st->st_uid != geteuid() && st->st_uid != account)
		err_set(e, "\"%.200s\" can be changed by others: %s \"%.200s\" belongs to uid %ld", path, what, entry,
			(long)st->st_uid);
	else if (!S_ISLNK(st->st_mode) && (st->st_mode & 022) && !is_sticky)
		err_set(e, "\"%.200s\" can be changed by others: %s \"%.200s\" has mode %04o", path, what, entry,
			st->st_mode & 07777U);
	else
		return true;
	return err_hint(e, "run \"chown root\" and \"chmod go-w\" on it, or put the file elsewhere");
}

/* Returns the target of the symbolic link `way`, followed by `rest`, the part of the path that is not checked yet. malloc'ed;
 * NULL with errno set on failure. */
static char *follow_link(const char *way, const char *rest)
{
	char target[PATH_MAX];
	ssize_t length = readlink(way, target, sizeof target);
	return length < 0 ? NULL : xasprintf("%.*s/%s", (int)length, target, rest);
}

static void leave_entry(char *way)
{
	char *slash = strrchr(way, '/');
	if (slash)
		*slash = '\0';
}

/* Check the owner and mode of the file or folder that `way` names now. If it is a symbolic link, take it off `way`, and put its
 * target at the front of *rest. */
static bool walk_entry(const char *path, char *way, char **rest, int *links, uid_t account, struct err *e)
{
	struct stat st;
	if (lstat(*way ? way : "/", &st) < 0)
		return err_sys(e, "could not check \"%.200s\"", path);
	if (!check_entry(path, *way ? way : "/", &st, account, e))
		return false;
	if (!S_ISLNK(st.st_mode))
		return true;
	errno = ELOOP;
	char *next = ++*links > LINKS_MOST ? NULL : follow_link(way, *rest);
	if (!next)
		return err_sys(e, "could not check \"%.200s\"", path);
	free(*rest);
	*rest = next;
	leave_entry(way);
	if (*next == '/')
		*way = '\0';
	return true;
}

/* Move the first name of the path `rest` to the end of `way`, the part that is checked and has no links. Returns false if the
 * path is too long. */
static bool add_part(char way[PATH_MAX], char *rest)
{
	size_t from = strspn(rest, "/"), size = strcspn(rest + from, "/"), length = strlen(way);
	const char *part = rest + from;
	if (length + size + 2 > PATH_MAX)
		return false;
	if (size == 2 && strncmp(part, "..", size) == 0)
		leave_entry(way);
	else if (size > 0 && !(size == 1 && *part == '.'))
		snprintf(way + length, PATH_MAX - length, "/%.*s", (int)size, part);
	memmove(rest, part + size, strlen(part + size) + 1);
	return true;
}

bool trust_file(const char *path, uid_t account, struct err *e)
{
	char way[PATH_MAX] = "", *rest = xstrdup(path);
	int links = 0;
	bool good = walk_entry(path, way, &rest, &links, account, e);
	while (good && *rest) {
		good = add_part(way, rest) || err_set(e, "could not check \"%.200s\": the path is too long", path);
		good = good && walk_entry(path, way, &rest, &links, account, e);
	}
	int error = errno;
	free(rest);
	errno = error;
	return good;
}

bool trust_programs(const char *const *paths, struct err *e)
{
	for (; *paths; paths++)
		if (**paths && !trust_file(*paths, geteuid(), e) && errno != ENOENT)
			return false;
	return true;
}
