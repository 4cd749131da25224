/* journal_truncate.c - drops the oldest records of a journal.
 *
 * Called by: the launcher, when procmgrd reports the position up to which the database has the records.
 * Invariants:
 * - A position names the same record before and after a truncation.
 * - A crash leaves either the old file or the new one.
 * - The new file gets the same reservation of disk space as the old one. If that fails, the old file stays. */
#include "lib/journal_inside.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/crash.h"

struct rewriting {
	char *kept; /* the kept records, in their order */
	size_t size;
};

/* Copy the records before `position` that `keep` wants. */
static bool kept_gather(struct journal *j, int64_t position, bool (*keep)(const struct fields *, void *), void *arg,
			struct rewriting *r, struct err *e)
{
	int64_t at = j->base;
	while (at < position) {
		uint32_t length;
		const char *text = journal_record(j, at, &length);
		if (!text || at + RECORD_HEAD + length > position)
			return err_set(e, "position %" PRId64 " is not between records of journal \"%s\"", position, j->path);
		struct fields *record = keep ? fields_parse(text, length, e) : NULL;
		if (keep && !record)
			return false;
		if (record && keep(record, arg)) {
			r->kept = xrealloc(r->kept, r->size + RECORD_HEAD + length);
			memcpy(r->kept + r->size, text - RECORD_HEAD, RECORD_HEAD + length);
			r->size += RECORD_HEAD + length;
		}
		fields_free(record);
		at += RECORD_HEAD + length;
	}
	return true;
}

/* Write the head, the kept records and all records from `position` on to `fd`. */
static bool rest_write(struct journal *j, int fd, int64_t position, const struct rewriting *r)
{
	off_t to = FILE_HEAD + (off_t)r->size;
	if (!journal_file_prepare(fd, j->path) || !journal_head_write(fd, position - (int64_t)r->size) ||
	    !journal_write_at(fd, r->kept, r->size, FILE_HEAD))
		return false;
	j->window_size = 0; /* the copy has overwritten the window, which is its buffer */
	for (off_t from = journal_offset(j, position), end = journal_offset(j, j->checked); from < end;) {
		size_t most = end - from < (off_t)j->window_capacity ? (size_t)(end - from) : j->window_capacity;
		ssize_t n = journal_read_at(j->fd, j->window, most, from);
		if (n <= 0 || !journal_write_at(fd, j->window, (size_t)n, to))
			return false;
		from += n;
		to += n;
	}
	return true;
}

/* Write the new journal file `beside` and rename it to the name of the journal. */
static bool file_swap(struct journal *j, int fd, const char *beside, int64_t position, const struct rewriting *r, struct err *e)
{
	struct stat st;
	crash_point(CRASH_journal_truncate_before);
	if (!rest_write(j, fd, position, r) || fstat(fd, &st) < 0)
		return err_sys(e, "could not write \"%s\"", beside);
	if (j->reservation > 0 && !journal_reservation_take(fd, st.st_size, j->reservation, e))
		return false;
	crash_point(CRASH_journal_truncate_written);
	if (rename(beside, j->path) < 0)
		return err_sys(e, "could not rename \"%s\"", beside);
	crash_point(CRASH_journal_truncate_after);
	return true;
}

static bool file_replace(struct journal *j, int64_t position, const struct rewriting *r, struct err *e)
{
	struct stat st;
	char *beside = xasprintf("%s.new", j->path);
	unlink(beside);
	int fd = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool ok = fd >= 0 ? file_swap(j, fd, beside, position, r, e) : err_sys(e, "could not make \"%s\"", beside);
	if (!ok)
		unlink(beside);
	if (fd >= 0)
		close(fd);
	free(beside);
	return ok && journal_follow(j, &st, e);
}

bool journal_truncate(struct journal *j, int64_t position, bool (*keep)(const struct fields *record, void *arg), void *arg,
		      struct err *e)
{
	struct rewriting r = {0};
	if (!journal_begin(j, e))
		return false;
	bool ok = position <= j->checked ||
		  err_set(e, "position %" PRId64 " is after the end of journal \"%s\"", position, j->path);
	if (ok && position > j->base)
		ok = kept_gather(j, position, keep, arg, &r, e) && file_replace(j, position, &r, e);
	free(r.kept);
	journal_end(j);
	return ok;
}
