/* keeper_file.c - what a keeper reads from the cache and puts into its spool folder.
 *
 * The cache is procmgrd's, so it is not trusted: no symbolic link is followed, nothing but a plain file of bounded size is read,
 * and what was read must have the hash that the signed order names. What always holds: a script in the spool is readable and
 * executable by its owner alone, and what stands in it when a task begins is what the order names. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/seal.h"
#include "procmgr/keeper/keeper_parts.h"
#include "procmgr/keeper/task_script.h"

enum { BLOB_LARGEST = 64 * 1024 * 1024 };

static bool read_all(int fd, char *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = read(fd, bytes + at, size - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static char *read_plain(int fd, const char *path, size_t *size, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > BLOB_LARGEST) {
		err_set(e, "\"%s\" is not a plain file of at most %d bytes", path, BLOB_LARGEST);
		return NULL;
	}
	char *bytes = xmalloc((unsigned long)st.st_size + 1);
	if (!read_all(fd, bytes, (size_t)st.st_size)) {
		err_sys(e, "could not read \"%s\"", path);
		free(bytes);
		return NULL;
	}
	*size = (size_t)st.st_size;
	bytes[*size] = '\0';
	return bytes;
}

char *keeper_file_read(const char *hash, size_t *size, struct err *e)
{
	char path[SEAL_HEX_SIZE + 16], found[SEAL_HEX_SIZE];
	snprintf(path, sizeof path, "cache/%.64s", hash);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		err_sys(e, "could not open \"%s\"", path);
		return NULL;
	}
	char *bytes = read_plain(fd, path, size, e);
	close(fd);
	if (!bytes)
		return NULL;
	seal_hash_hex(bytes, *size, found);
	if (strcmp(found, hash) != 0) {
		err_set(e, "\"%s\" does not hold what its name says", path);
		free(bytes);
		return NULL;
	}
	return bytes;
}

static bool write_script(int fd, const char *text, size_t length, const struct task_owner *owner)
{
	for (size_t at = 0; at < length;) {
		ssize_t n = write(fd, text + at, length - at);
		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return fchmod(fd, 0500) == 0 && (geteuid() != 0 || fchown(fd, owner->uid, owner->gid) == 0);
}

/* Is there a script already, of an attempt before in the same folder, that is what this one would write? Only its owner can have
 * changed it, and it runs as that owner alone. */
static bool has_script(const char *path, const char *text, size_t length, const struct task_owner *owner)
{
	struct stat st;
	struct err e;
	size_t size;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool same = fd >= 0 && fstat(fd, &st) == 0 && st.st_mode == (S_IFREG | 0500) && st.st_uid == owner->uid &&
		    st.st_gid == owner->gid && st.st_nlink == 1 && (size_t)st.st_size == length;
	char *there = same ? read_plain(fd, path, &size, &e) : NULL;
	same = there && size == length && memcmp(there, text, length) == 0;
	free(there);
	if (fd >= 0)
		close(fd);
	return same;
}

static bool make_script(const char *path, const char *text, size_t length, const struct task_owner *owner)
{
	if (unlink(path) < 0 && errno != ENOENT)
		return false;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool written = fd >= 0 && write_script(fd, text, length, owner);
	if (fd >= 0)
		close(fd);
	return written;
}

bool keeper_file_script(struct keeper *k, struct err *e)
{
	size_t size, length;
	char *script = keeper_file_read(k->order->script_hash, &size, e);
	if (!script)
		return false;
	char *cut = task_script_cut(script, size, &k->order->spec, &length);
	char *path = xasprintf("spool/%s/script", k->name);
	bool there = has_script(path, cut, length, &k->owner) || make_script(path, cut, length, &k->owner) ||
		     err_sys(e, "could not write \"%s/%s\"", k->job->dir, path);
	k->script_path = xasprintf("%s/%s", k->job->dir, path);
	free(path);
	free(cut);
	free(script);
	return there;
}
