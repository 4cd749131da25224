/* removed.c - the list of removed credentials, by which a database that is restored from an earlier backup brings none of them back.
 *
 * Called by: credd.c; credd_removed.c, which adds to the list; credd_row.c and credd_upload.c before they use a secret.
 * Invariants:
 * - The file only grows, by whole lines. A line that a crash has cut is ignored, and the next one begins on a line of its own.
 * - A line is on disk before removed_save() returns true. */
#include "credmgr/removed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/credential.h"
#include "lib/file.h"
#include "lib/log.h"

enum { ORIGIN_SIZE = 33 };

struct removal {
	int64_t uid, at;
	int version;
	char name[CREDENTIAL_OWN_NAME_SIZE], origin[ORIGIN_SIZE];
};

struct removed {
	char *path;
	void *tree;    /* of struct removal, by uid, name and origin */
	char *unsaved; /* lines that are not in the file yet */
	size_t size;
};

static int compare_removals(const void *a, const void *b)
{
	const struct removal *x = a, *y = b;
	int order = (x->uid > y->uid) - (x->uid < y->uid);
	order = order ? order : strcmp(x->name, y->name);
	return order ? order : strcmp(x->origin, y->origin);
}

/* Make an entry from the key of a credential. Returns false if name or origin is not valid. */
static bool removal_make(struct removal *one, int64_t uid, const char *name, const char *origin)
{
	size_t length = strspn(origin, "0123456789abcdef");
	*one = (struct removal){.uid = uid};
	if (!credential_name_valid(name) || strchr(name, '@') || origin[length] || (length > 0 && length != ORIGIN_SIZE - 1))
		return false;
	snprintf(one->name, sizeof one->name, "%s", name);
	snprintf(one->origin, sizeof one->origin, "%s", origin);
	return true;
}

/* Add an entry to the tree. Returns false if the tree has the credential in this version, or in a later one. */
static bool removal_add(struct removed *r, const struct removal *one)
{
	struct removal *copy = xmalloc(sizeof *copy);
	*copy = *one;
	struct removal **found = tsearch(copy, &r->tree, compare_removals);
	if (!found)
		die("out of memory");
	if (*found == copy)
		return true;
	free(copy);
	if ((*found)->version >= one->version)
		return false;
	**found = *one;
	return true;
}

static bool line_read(struct removed *r, const char *line)
{
	char name[CREDENTIAL_OWN_NAME_SIZE], origin[ORIGIN_SIZE];
	struct removal one;
	int64_t uid, at;
	int version, end = 0;
	_Static_assert(CREDENTIAL_OWN_NAME_SIZE > 31 && ORIGIN_SIZE > 32, "names and origins fit");
	if (sscanf(line, "%" SCNd64 " %31s %32s %d %" SCNd64 "%n", &uid, name, origin, &version, &at, &end) != 5 ||
	    strcmp(line + end, "\n") != 0 || !removal_make(&one, uid, name, strcmp(origin, "-") == 0 ? "" : origin))
		return false;
	one.version = version;
	one.at = at;
	removal_add(r, &one);
	return true;
}

/* Have the next line that is written begin anew, whatever the file ends with. */
static void line_end(struct removed *r)
{
	if (r->size > 0 && r->unsaved[0] == '\n')
		return;
	r->unsaved = xrealloc(r->unsaved, r->size + 2);
	memmove(r->unsaved + 1, r->unsaved, r->size);
	r->unsaved[0] = '\n';
	r->size++;
	r->unsaved[r->size] = '\0';
}

/* Read all lines. If the last line has no newline, one is written before the next line. */
static void file_read(struct removed *r, FILE *file)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length, last = 0;
	while ((length = getline(&line, &size, file)) > 0) {
		last = line[length - 1] == '\n' ? 0 : length;
		if (*line != '\n' && !line_read(r, line))
			log_warning("\"%s\" has a line that names no removed credential; it is ignored", r->path);
	}
	if (last > 0)
		line_end(r);
	free(line);
}

bool removed_read(struct removed *r, struct err *e)
{
	int fd = open(r->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!file)
		return errno == ENOENT || err_sys(e, "could not read \"%s\", which says which credentials were removed", r->path);
	file_read(r, file);
	fclose(file);
	return true;
}

struct removed *removed_open(const char *folder, struct err *e)
{
	struct removed *r = xcalloc(1, sizeof *r);
	r->path = xasprintf("%s/removed", folder);
	if (removed_read(r, e))
		return r;
	removed_free(r);
	return NULL;
}

void removed_free(struct removed *r)
{
	if (!r)
		return;
	tdestroy(r->tree, free);
	free(r->unsaved);
	free(r->path);
	free(r);
}

bool removed_note(struct removed *r, int64_t uid, const char *name, const char *origin, int version, int64_t at)
{
	struct removal one;
	if (!removal_make(&one, uid, name, origin))
		return false;
	one.version = version;
	one.at = at;
	if (!removal_add(r, &one))
		return true;
	char *line = xasprintf("%" PRId64 " %s %s %d %" PRId64 "\n", uid, name, *origin ? origin : "-", version, at);
	size_t length = strlen(line);
	r->unsaved = xrealloc(r->unsaved, r->size + length + 1);
	memcpy(r->unsaved + r->size, line, length + 1);
	r->size += length;
	free(line);
	return true;
}

bool removed_save(struct removed *r, struct err *e)
{
	if (r->size == 0)
		return true;
	int fd = open(r->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool saved = fd >= 0 && file_write_all(fd, r->unsaved, r->size) && fsync(fd) == 0;
	if (!saved)
		err_sys(e, "could not write \"%s\": credentials that were removed would come back with an older database",
			r->path);
	if (fd >= 0)
		close(fd);
	if (saved)
		r->size = 0;
	else if (fd >= 0)
		line_end(r); /* a part of them may be there */
	return saved;
}

int64_t removed_find(const struct removed *r, int64_t uid, const char *name, const char *origin, int version)
{
	struct removal one;
	if (!removal_make(&one, uid, name, origin))
		return 0;
	struct removal *const *found = tfind(&one, &r->tree, compare_removals);
	return found && (*origin || version <= (*found)->version) ? (*found)->at : 0;
}
