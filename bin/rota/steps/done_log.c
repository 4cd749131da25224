/* done_log.c - the log of `rota run --each --resume` (done_log.h).
 *
 * Called by: run_each.c.
 * Invariants:
 * - An entry is one line, "HASH NUMBER", and one write(2). A line that a crash cut off is not read as an entry.
 * - Only lines (or units) that completed are in the log, so those that failed run again. */
#include "bin/rota/steps/done_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct done_log {
	int fd;
	char *path;
	uint64_t *hashes; /* hashes of the lines that earlier calls completed, sorted */
	size_t count;
};

static int hash_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Read all entries. Sets *cut if the last line has no newline. */
static void log_read(struct done_log *log, FILE *in, bool *cut)
{
	char line[128], hash[17], end;
	size_t room = 0;

	while (fgets(line, sizeof(line), in)) {
		*cut = !strchr(line, '\n');
		if (*cut || sscanf(line, "%16[0-9a-f] %*d%c", hash, &end) != 2 || end != '\n' || strlen(hash) != 16)
			continue;
		if (log->count == room) {
			room = room * 2 + 1024;
			log->hashes = xrealloc(log->hashes, room * sizeof(*log->hashes));
		}
		log->hashes[log->count++] = strtoull(hash, NULL, 16);
	}
	if (log->count)
		qsort(log->hashes, log->count, sizeof(*log->hashes), hash_compare);
}

struct done_log *done_log_open(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666), copy = fd < 0 ? -1 : dup(fd);
	FILE *in = copy < 0 ? NULL : fdopen(copy, "r");
	struct done_log *log;
	bool cut = false;

	if (!in) {
		err_sys(e, "could not open the log \"%s\"", path);
		return NULL;
	}
	log = xcalloc(1, sizeof(*log));
	log->fd = fd;
	log->path = xstrdup(path);
	log_read(log, in, &cut);
	fclose(in);
	if (cut && write(fd, "\n", 1) != 1) {
		err_sys(e, "could not write the log \"%s\"", path);
		done_log_close(log);
		return NULL;
	}
	return log;
}

bool done_log_has(const struct done_log *log, uint64_t hash)
{
	return log->count && bsearch(&hash, log->hashes, log->count, sizeof(hash), hash_compare);
}

bool done_log_add(struct done_log *log, uint64_t hash, long number, struct err *e)
{
	char line[64];
	int size = snprintf(line, sizeof(line), "%016" PRIx64 " %ld\n", hash, number);

	return write(log->fd, line, (size_t)size) == size || err_sys(e, "could not write the log \"%s\"", log->path);
}

void done_log_close(struct done_log *log)
{
	close(log->fd);
	free(log->path);
	free(log->hashes);
	free(log);
}

char *done_log_default(const char *workdir, const char *label)
{
	char *path;

	if (!label || !*label)
		return NULL;
	path = xasprintf("%s/rota-%s.done", workdir && *workdir ? workdir : ".", label);
	return path;
}
