/* agent_cache.c - keeps scripts and environments by hash in cache/, where keepers read them.
 *
 * Called by: agent_order.c and agent_blob.c; agent.c to evict. The working directory is the node's folder.
 * Invariants: each cached file is complete, and its name is the hash of its content. Keepers verify the hash again. */
#include "procmgr/agent/agent_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/log.h"
#include "lib/seal.h"
#include "procmgr/record/credential_box.h"

enum { PATH_SIZE = 128 };

struct cached {
	char hash[SEAL_HEX_SIZE];
	time_t used_at;
	int64_t size;
};

static bool is_hash(const char *name)
{
	return strlen(name) == SEAL_HEX_SIZE - 1 && strspn(name, "0123456789abcdef") == SEAL_HEX_SIZE - 1;
}

static void make_path(const char *hash, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "cache/%.64s", hash);
}

/* Does the file belong to agent_credential.c? */
static bool is_box(const char *name)
{
	struct record_key key;
	char credential[CREDENTIAL_NAME_SIZE];
	bool gone;
	return credential_box_parse(name, &key, credential, &gone);
}

static bool is_valid(int dir, const char *hash)
{
	char found[SEAL_HEX_SIZE] = "";
	struct stat st;
	int fd = openat(dir, hash, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	void *bytes = st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (bytes != MAP_FAILED)
		seal_hash_hex(bytes ? bytes : "", (size_t)st.st_size, found);
	if (bytes && bytes != MAP_FAILED)
		munmap(bytes, (size_t)st.st_size);
	close(fd);
	return strcmp(found, hash) == 0;
}

void agent_cache_open(void)
{
	DIR *dir = opendir("cache");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (*entry->d_name != '.' && !is_box(entry->d_name) &&
		    (!is_hash(entry->d_name) || !is_valid(dirfd(dir), entry->d_name)))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

bool agent_cache_exists(void)
{
	return access("cache/.", W_OK | X_OK) == 0;
}

bool agent_cache_has(const char *hash)
{
	char path[PATH_SIZE];
	make_path(hash, path);
	return utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

bool agent_cache_matches(const char *hash, const void *bytes, size_t size)
{
	char found[SEAL_HEX_SIZE];
	seal_hash_hex(bytes, size, found);
	return is_hash(hash) && strcmp(found, hash) == 0;
}

bool agent_cache_write(const char *path, const void *bytes, size_t size, struct err *e)
{
	char fresh[] = "cache/fresh.XXXXXX";
	int fd = mkostemp(fresh, O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "could not make a file in folder \"cache\"");
	bool written = file_write_all(fd, bytes, size) && rename(fresh, path) == 0;
	if (!written) {
		err_sys(e, "could not write \"%s\"", path);
		unlink(fresh);
	}
	close(fd);
	return written;
}

bool agent_cache_put(const char *hash, const void *bytes, size_t size, struct err *e)
{
	char path[PATH_SIZE];
	if (!agent_cache_matches(hash, bytes, size))
		return err_set(e, "a script or environment in the database does not match its hash \"%.64s\"", hash);
	make_path(hash, path);
	return agent_cache_write(path, bytes, size, e);
}

static int compare_used(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;
	return x->used_at < y->used_at ? -1 : x->used_at > y->used_at;
}

/* List the cached files, longest unused first. */
static struct cached *list_files(int *count, int64_t *bytes)
{
	struct cached *files = NULL;
	int capacity = 0;
	DIR *dir = opendir("cache");
	*count = 0;
	*bytes = 0;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		struct stat st;
		if (!is_hash(entry->d_name) || fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (*count == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			files = xrealloc(files, (unsigned long)capacity * sizeof *files);
		}
		struct cached *file = &files[(*count)++];
		memcpy(file->hash, entry->d_name, SEAL_HEX_SIZE);
		file->used_at = st.st_mtime;
		file->size = st.st_size;
		*bytes += st.st_size;
	}
	if (dir)
		closedir(dir);
	if (*count > 0)
		qsort(files, (size_t)*count, sizeof *files, compare_used);
	return files;
}

void agent_cache_evict(int64_t most_bytes, int64_t unused_s)
{
	char path[PATH_SIZE];
	int64_t bytes;
	int count;
	struct cached *files = list_files(&count, &bytes);
	time_t limit = time(NULL) - (time_t)unused_s;
	for (int i = 0; i < count && bytes > most_bytes && files[i].used_at <= limit; i++) {
		make_path(files[i].hash, path);
		if (unlink(path) == 0)
			bytes -= files[i].size;
	}
	free(files);
}
