/* keeper_file.c - reads files of the cache, and writes the script into the spool folder.
 *
 * Called by: keeper.c for each attempt. Consecutive attempts of a keeper are often of one array, so a file that the last launch
 * request named too is not read again.
 * Invariants:
 * - Copies of scripts and environments are overwritten when the keeper has no use for them any more.
 * - procmgrd can write to the cache, so the cache is not trusted: no symbolic link is followed, only plain files of limited size
 *   are read, and a file's hash must be the one in the signed launch request.
 * - Only root and the user of the step can read a script in the spool, and only root can change it. When a task starts, the script
 *   has the lines that the launch request names. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/hosts.h"
#include "lib/script_cut.h"
#include "lib/seal.h"
#include "procmgr/keeper/keeper_parts.h"
#include "procmgr/keeper/user_file.h"

enum { BLOB_LARGEST = 64 * 1024 * 1024, KEPT_LARGEST = 64 * 1024, UNCHANGED_MS = 50 };

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

static char *read_plain(int fd, const char *path, int largest, size_t *size, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > largest) {
		err_set(e, "\"%s\" is not a plain file of at most %d bytes", path, largest);
		errno = EINVAL;
		return NULL;
	}
	char *bytes = xmalloc((unsigned long)st.st_size + 1);
	if (!read_all(fd, bytes, (size_t)st.st_size)) {
		err_sys(e, "could not read \"%s\"", path);
		xfree_wiped(bytes, (unsigned long)st.st_size);
		return NULL;
	}
	*size = (size_t)st.st_size;
	bytes[*size] = '\0';
	return bytes;
}

char *keeper_file_plain(const char *path, int largest, size_t *size, struct err *e)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		int failed = errno;
		err_sys(e, "could not open \"%s\"", path);
		errno = failed;
		return NULL;
	}
	char *bytes = read_plain(fd, path, largest, size, e);
	close(fd);
	return bytes;
}

static char *read_cached(const char *hash, size_t *size, struct err *e)
{
	char path[SEAL_HEX_SIZE + 16], found[SEAL_HEX_SIZE];
	snprintf(path, sizeof path, "cache/%.64s", hash);
	char *bytes = keeper_file_plain(path, BLOB_LARGEST, size, e);
	if (!bytes)
		return NULL;
	seal_hash_hex(bytes, *size, found);
	if (strcmp(found, hash) != 0) {
		err_set(e, "\"%s\" has another hash than its name says", path);
		xfree_wiped(bytes, *size);
		return NULL;
	}
	return bytes;
}

static void free_blob(struct keeper_blob *blob)
{
	xfree_wiped(blob->bytes, blob->size);
	*blob = (struct keeper_blob){.bytes = NULL};
}

bool keeper_file_read(struct keeper_blob *blob, const char *hash, struct err *e)
{
	if (*blob->hash && strcmp(blob->hash, hash) == 0)
		return true;
	free_blob(blob);
	blob->bytes = read_cached(hash, &blob->size, e);
	if (blob->bytes)
		snprintf(blob->hash, sizeof blob->hash, "%s", hash);
	return blob->bytes != NULL;
}

void keeper_file_trim(struct keeper_cache *cache)
{
	if (cache->environment.size > KEPT_LARGEST)
		free_blob(&cache->environment);
	if (cache->script.size > KEPT_LARGEST)
		free_blob(&cache->script);
}

/* Was the last change of the file so long ago that another change would show in its time, even with a coarse clock? */
static bool is_old_enough(const struct stat *st, const struct timespec *now)
{
	return (now->tv_sec - st->st_ctim.tv_sec) * 1000 + (now->tv_nsec - st->st_ctim.tv_nsec) / 1000000 > UNCHANGED_MS;
}

static struct keeper_script_state script_state(const struct stat *st, const struct order_spec *spec)
{
	return (struct keeper_script_state){st->st_dev,	  st->st_ino, st->st_ctim, spec->pre_from,
					    spec->pre_to, spec->from, spec->to};
}

static bool is_same_state(const struct keeper_script_state *a, const struct keeper_script_state *b)
{
	return a->device == b->device && a->inode == b->inode && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec && a->pre_from == b->pre_from && a->pre_to == b->pre_to &&
	       a->from == b->from && a->to == b->to;
}

/* Is the script file unchanged since the keeper's last attempt, and does this attempt run the same lines of the script? */
static bool is_unchanged(const char *path, const struct keeper *k, const struct keeper_cache *cache)
{
	struct stat st;
	if (cache->state.inode == 0 || cache->script_uid != k->owner.uid || lstat(path, &st) < 0 ||
	    !user_file_is_shared(&st, true, &k->owner))
		return false;
	struct keeper_script_state now = script_state(&st, &k->order->spec);
	return is_same_state(&now, &cache->state);
}

/* Has the keeper's last attempt left the same script of the same user in its folder? */
static bool has_script(const char *path, const char *text, size_t length, const struct keeper *k, struct keeper_cache *cache)
{
	struct stat st;
	struct err e;
	struct timespec now;
	size_t size;
	clock_gettime(CLOCK_REALTIME, &now);
	int fd = cache->script_uid == k->owner.uid ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	bool same = fd >= 0 && fstat(fd, &st) == 0 && user_file_is_shared(&st, true, &k->owner) && (size_t)st.st_size == length;
	char *there = same ? read_plain(fd, path, BLOB_LARGEST, &size, &e) : NULL;
	same = there && size == length && memcmp(there, text, length) == 0;
	if (same && is_old_enough(&st, &now))
		cache->state = script_state(&st, &k->order->spec);
	xfree_wiped(there, there ? size : 0);
	if (fd >= 0)
		close(fd);
	return same;
}

/* Make a new file in the spool folder for the user of the step. */
static bool make_file(const char *path, bool executable, const char *text, size_t length, const struct task_owner *owner)
{
	if (unlink(path) < 0 && errno != ENOENT)
		return false;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool written = fd >= 0 && file_write_all(fd, text, length) && user_file_share(fd, executable, owner);
	if (fd >= 0)
		close(fd);
	return written;
}

/* Write the step's script into the spool folder, unless the folder already has the same script. */
static bool put_script(const struct keeper *k, const char *path, struct keeper_cache *cache, struct err *e)
{
	static const char ENV[] = "#!/usr/bin/env ";
	size_t length;
	char *cut = script_cut(cache->script.bytes, cache->script.size, &k->order->spec, &length);
	cache->state = (struct keeper_script_state){.inode = 0};
	cache->pbs = memmem(cache->script.bytes, cache->script.size, "\n#PBS", 5) != NULL;
	cache->by_env = length > strlen(ENV) && strncmp(cut, ENV, strlen(ENV)) == 0;
	bool there = has_script(path, cut, length, k, cache) || make_file(path, true, cut, length, &k->owner) ||
		     err_sys(e, "could not write \"%s/%s\"", k->job->dir, path);
	cache->script_uid = k->owner.uid;
	xfree_wiped(cut, length);
	return there;
}

bool keeper_file_script(struct keeper *k, struct keeper_cache *cache, struct err *e)
{
	char path[RECORD_KEY_SIZE + 16];
	bool is_cached = strcmp(cache->script.hash, k->order->script_hash) == 0;
	snprintf(path, sizeof path, "spool/%s/script", k->name);
	k->script_path = xasprintf("%s/%s", k->job->dir, path);
	bool there = (is_cached && is_unchanged(path, k, cache)) ||
		     (keeper_file_read(&cache->script, k->order->script_hash, e) && put_script(k, path, cache, e));
	k->by_env = cache->by_env;
	return there;
}

/* Make a text with one line for each task, which has the name of the task's node. Nodes get blocks of tasks, and the first nodes
 * one task more if the tasks do not divide evenly. malloc'ed. */
static char *node_lines(const struct order *order, size_t *length)
{
	char *names = *order->nodes ? hosts_expand(order->nodes) : xstrdup(order->node), *lines = NULL, *rest = NULL;
	int left = order->task_count, nodes = order->node_count;
	FILE *out = open_memstream(&lines, length);
	if (!out)
		die("out of memory");
	for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest), nodes--)
		for (int tasks = (left + nodes - 1) / nodes; tasks > 0; tasks--, left--)
			fprintf(out, "%s\n", name);
	if (fclose(out) != 0)
		die("out of memory");
	free(names);
	return lines;
}

bool keeper_file_nodes(struct keeper *k, const struct keeper_cache *cache, struct err *e)
{
	char path[RECORD_KEY_SIZE + 16];
	size_t length;
	if (!cache->pbs)
		return true;
	snprintf(path, sizeof path, "spool/%s/nodes", k->name);
	char *lines = node_lines(k->order, &length);
	bool made =
		make_file(path, false, lines, length, &k->owner) || err_sys(e, "could not write \"%s/%s\"", k->job->dir, path);
	free(lines);
	if (made)
		k->node_file = xasprintf("%s/%s", k->job->dir, path);
	return made;
}
