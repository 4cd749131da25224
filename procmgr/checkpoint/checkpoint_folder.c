/* checkpoint_folder.c - makes, reads, compares and removes folders of checkpoints.
 *
 * Called by: checkpoint.c, checkpoint_start.c.
 * Invariants:
 * - Everything below a step's folder is reached by descriptors, and no symbolic link is followed. So nobody who can write to a folder above
 *   it leads this process elsewhere. */
#include "procmgr/checkpoint/checkpoint_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/seal.h"

enum { BLOCK_SIZE = 1 << 20, DEPTH_MOST = 32, MODE_OWN = 0700 };

/* A walk through the files below a folder. */
struct walk {
	json_t *files;
	char *block;
	bool failed;
	struct err *e;
};

int folder_open(const char *path, struct err *e)
{
	char *part = xstrdup(path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(part, MODE_OWN);
		*slash = '/';
	}
	mkdir(part, MODE_OWN);
	free(part);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err_sys(e, "could not make or open folder \"%s\"", path);
	return fd;
}

int folder_open_own(int parent, const char *name, bool make, struct err *e)
{
	struct stat s;
	if (make)
		mkdirat(parent, name, MODE_OWN);
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		err_sys(e, "could not open folder \"%s\"", name);
		return -1;
	}
	if (fstat(fd, &s) == 0 && s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return fd;
	err_set(e, "folder \"%s\" is not yours, or others may write to it", name);
	close(fd);
	errno = EPERM;
	return -1;
}

void folder_each(int folder, void (*each)(int folder, const char *name, void *arg), void *arg)
{
	/* a second descriptor of the folder has a position of its own */
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			each(folder, entry->d_name, arg);
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
}

static void note_entry(int folder, const char *name, void *arg)
{
	(void)folder;
	(void)name;
	*(bool *)arg = false;
}

bool folder_is_empty(int folder)
{
	bool empty = true;
	folder_each(folder, note_entry, &empty);
	return empty;
}

static void remove_entry(int folder, const char *name, void *arg)
{
	(void)arg;
	folder_remove(folder, name);
}

bool folder_remove(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		folder_each(fd, remove_entry, NULL);
		close(fd);
	}
	return unlinkat(parent, name, fd >= 0 ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT;
}

/* Compute the size and the SHA-256 of an open file. */
static bool hash_file(int fd, char *block, int64_t *bytes, char hex[SEAL_HEX_SIZE], struct err *e)
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	ssize_t size;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL))
		die("OpenSSL has no SHA-256");
	*bytes = 0;
	while ((size = read(fd, block, BLOCK_SIZE)) > 0) {
		EVP_DigestUpdate(context, block, (size_t)size);
		*bytes += size;
	}
	EVP_DigestFinal_ex(context, hash, NULL);
	EVP_MD_CTX_free(context);
	seal_hex(hash, SEAL_HASH_SIZE, hex);
	return size == 0 || err_sys(e, "could not read it");
}

static void walk_folder(int folder, const char *name, struct walk *w, int depth);

/* Write the buffered content of an open file to disk. A file that cannot be synchronised counts as written. */
static bool sync_file(int fd, struct err *e)
{
	return fsync(fd) == 0 || errno == EINVAL || err_sys(e, "could not write it to disk");
}

/* Add an open file to the list of the walk, with its size and SHA-256, and write it to disk. */
static bool walk_file(int fd, const char *name, struct walk *w)
{
	struct err e;
	int64_t bytes;
	char hex[SEAL_HEX_SIZE];
	if (!hash_file(fd, w->block, &bytes, hex, &e) || !sync_file(fd, &e))
		return err_set(w->e, "file \"%s\": %s", name, e.message);
	return json_array_append_new(
		       w->files, json_pack("{s:s, s:I, s:s}", "name", name, "bytes", (json_int_t)bytes, "sha256", hex)) == 0 ||
	       err_set(w->e, "the name of a file is not UTF-8");
}

/* Add the entry `name` of a folder to the walk: a file, or all files of a folder. `name`: its path from the top of the walk. */
static void walk_entry(int folder, const char *name, struct walk *w, int depth)
{
	const char *slash = strrchr(name, '/');
	struct stat s;
	int fd = openat(folder, slash ? slash + 1 : name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s) < 0)
		w->failed = !err_sys(w->e, "could not open file \"%s\"", name);
	else if (S_ISDIR(s.st_mode) && depth < DEPTH_MOST)
		walk_folder(fd, name, w, depth + 1);
	else if (S_ISREG(s.st_mode))
		w->failed = !walk_file(fd, name, w);
	else
		w->failed = !err_set(w->e, "\"%s\" is neither a file nor a folder", name);
	if (fd >= 0)
		close(fd);
}

struct walk_level {
	struct walk *walk;
	const char *name;
	int depth;
};

static void walk_next(int folder, const char *name, void *arg)
{
	struct walk_level *level = arg;
	char *path = *level->name ? xasprintf("%s/%s", level->name, name) : xstrdup(name);
	if (!level->walk->failed)
		walk_entry(folder, path, level->walk, level->depth);
	free(path);
}

static void walk_folder(int folder, const char *name, struct walk *w, int depth)
{
	struct walk_level level = {w, name, depth};
	folder_each(folder, walk_next, &level);
	fsync(folder);
}

json_t *folder_hash(int folder, struct err *e)
{
	struct walk w = {json_array(), xmalloc(BLOCK_SIZE), false, e};
	walk_folder(folder, "", &w, 0);
	free(w.block);
	if (!w.failed)
		return w.files;
	json_decref(w.files);
	return NULL;
}

/* Open an entry by its path below a folder, without following a link. Returns a descriptor that only names the entry (O_PATH),
 * since opening a device may have an effect. */
static int open_below(int folder, const char *path)
{
	char *part = xstrdup(path), *name = part, *slash;
	int at = dup(folder), next;
	while (at >= 0 && (slash = strchr(name, '/'))) {
		*slash = '\0';
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
		name = slash + 1;
	}
	int fd = at < 0 ? -1 : openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at >= 0)
		close(at);
	free(part);
	return fd;
}

bool folder_lacks(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

/* Compare an open plain file with its row in the list: {name, bytes, sha256}. */
static enum folder_match compare_open(int fd, const struct stat *s, const json_t *row, char *block, struct err *e)
{
	const char *name = json_string_value(json_object_get(row, "name")),
		   *sha256 = json_string_value(json_object_get(row, "sha256"));
	int64_t bytes = 0, known = json_integer_value(json_object_get(row, "bytes"));
	char hex[SEAL_HEX_SIZE];
	struct err why;
	if (s->st_size != known) {
		err_set(e, "%s: it has %lld bytes, and had %lld", name, (long long)s->st_size, (long long)known);
		return FOLDER_DIFFERS;
	}
	if (!hash_file(fd, block, &bytes, hex, &why)) {
		err_set(e, "%s: %s", name, why.message);
		return FOLDER_UNREADABLE;
	}
	if (strcmp(hex, sha256) == 0)
		return FOLDER_SAME;
	err_set(e, "%s: its SHA-256 differs", name);
	return FOLDER_DIFFERS;
}

/* Compare the file that a row of the list names with that row. Only a plain file is opened to be read. */
static enum folder_match compare_file(int folder, const json_t *row, char *block, struct err *e)
{
	const char *name = json_string_value(json_object_get(row, "name"));
	char self[64];
	struct stat s;
	int named = open_below(folder, name), fd = -1;
	bool known = named >= 0 && fstat(named, &s) == 0, plain = known && S_ISREG(s.st_mode);
	if (plain) {
		snprintf(self, sizeof self, "/proc/self/fd/%d", named);
		fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	enum folder_match match = (known && !plain) || (!known && folder_lacks(errno)) ? FOLDER_DIFFERS : FOLDER_UNREADABLE;
	if (fd >= 0)
		match = compare_open(fd, &s, row, block, e);
	else if (known && !plain)
		err_set(e, "%s: it is no file", name);
	else
		err_sys(e, "%s: could not open it", name);
	if (fd >= 0)
		close(fd);
	if (named >= 0)
		close(named);
	return match;
}

enum folder_match folder_compare(int folder, const json_t *files, struct err *e)
{
	char *block = xmalloc(BLOCK_SIZE);
	const json_t *row;
	size_t i;
	enum folder_match match = FOLDER_SAME;
	json_array_foreach (files, i, row)
		if (match == FOLDER_SAME)
			match = compare_file(folder, row, block, e);
	free(block);
	return match;
}

/* A search for an entry that is not in the list of files. `known`: an object with the listed names as keys; `above`: path of the
 * searched folder; `found`: path of the entry, malloc'ed; `error`: errno of a folder that could not be opened, or 0. */
struct unlisted {
	const json_t *known;
	const char *above;
	char *found;
	int error;
};

static void find_unlisted(int folder, const char *name, void *arg)
{
	struct unlisted *search = arg, below = {.known = search->known};
	if (search->found || search->error)
		return;
	char *path = *search->above ? xasprintf("%s/%s", search->above, name) : xstrdup(name);
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	below.above = path;
	if (fd >= 0) {
		folder_each(fd, find_unlisted, &below);
		close(fd);
		search->found = below.found;
		search->error = below.error;
	} else if (!folder_lacks(errno)) {
		search->error = errno;
	} else if (errno != ENOENT && !json_object_get(search->known, path)) {
		search->found = xstrdup(path);
	}
	free(path);
}

enum folder_match folder_compare_whole(int folder, const json_t *files, struct err *e)
{
	json_t *known = json_object();
	const json_t *row;
	size_t i;
	json_array_foreach (files, i, row)
		json_object_set_new(known, json_string_value(json_object_get(row, "name")), json_true());
	struct unlisted search = {.known = known, .above = ""};
	folder_each(folder, find_unlisted, &search);
	json_decref(known);
	errno = search.error;
	if (search.error) {
		err_sys(e, "could not open a folder of the checkpoint");
		return FOLDER_UNREADABLE;
	} else if (!search.found) {
		return folder_compare(folder, files, e);
	}
	err_set(e, "%s: it is not one of the checkpoint's files", search.found);
	free(search.found);
	return FOLDER_DIFFERS;
}

static bool copy_bytes(int from, int to)
{
	char *block = xmalloc(BLOCK_SIZE);
	ssize_t size, done = 0;
	while (done >= 0 && (size = read(from, block, BLOCK_SIZE)) > 0)
		for (ssize_t at = 0; done >= 0 && at < size; at += done)
			done = write(to, block + at, (size_t)(size - at));
	free(block);
	return done >= 0 && size == 0;
}

bool folder_copy(const char *path, int folder, const char *name, struct err *e)
{
	struct stat s;
	int from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), to = -1;
	bool there = from >= 0 && fstat(from, &s) == 0, plain = there && S_ISREG(s.st_mode);
	if (plain)
		to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool copied = to >= 0 && copy_bytes(from, to);
	if (there && !plain)
		err_set(e, "\"%s\" is no file", path);
	else if (!copied)
		err_sys(e, "could not copy file \"%s\"", path);
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	return copied;
}
