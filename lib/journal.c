/* journal.c - append, read and truncate a journal (journal.h tells its form).
 *
 * The launcher and its keepers append, the launcher truncates, procmgrd and a restarted launcher read. What always holds: under
 * the lock, the file that PATH names is the one that `fd` is open on; nothing behind a record that does not check is believed;
 * whole records are never cut; the record at a position is the same before and after a truncation. */
#include "lib/journal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/log.h"

enum { RECORD_HEAD = 8, RECORD_LONGEST = 1 << 20, WINDOW = RECORD_HEAD + RECORD_LONGEST };

static const char magic[8] = "ROTAJRN1";

struct file_head {
	char magic[8];
	uint64_t base; /* little endian: logical position of the first record */
};

enum { FILE_HEAD = sizeof(struct file_head) };

struct journal {
	char *path;
	enum journal_mode mode;
	int fd;
	int64_t base;	 /* logical position of byte FILE_HEAD */
	int64_t checked; /* every record before this position is whole */
	char *window;	 /* bytes of the file, from window_at on */
	int64_t window_at;
	size_t window_size;
};

static off_t offset_of(const struct journal *j, int64_t position)
{
	return FILE_HEAD + (position - j->base);
}

static bool write_at(int fd, const void *data, size_t size, off_t at)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pwrite(fd, (const char *)data + done, size - done, at + (off_t)done);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static ssize_t read_at(int fd, void *data, size_t size, off_t at)
{
	size_t done = 0;
	while (done < size) {
		ssize_t n = pread(fd, (char *)data + done, size - done, at + (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* the file and its head */

static bool head_write(int fd, int64_t base)
{
	struct file_head head = {.base = htole64((uint64_t)base)};
	memcpy(head.magic, magic, sizeof magic);
	return write_at(fd, &head, sizeof head, 0);
}

/* A new file is readable by the group that owns the folder: procmgrd's. */
static bool file_prepare(int fd, const char *path)
{
	char *copy = xstrdup(path);
	struct stat folder;
	bool ok = stat(dirname(copy), &folder) == 0 && (fchown(fd, (uid_t)-1, folder.st_gid) == 0 || errno == EPERM) &&
		  fchmod(fd, 0640) == 0;
	free(copy);
	return ok;
}

/* Read the head; a writer (who holds the lock) writes it where the file is new or its making was cut short. */
static bool head_check(struct journal *j, int fd, struct err *e)
{
	static const struct file_head nothing;
	struct file_head head = {0};
	ssize_t size = read_at(fd, &head, sizeof head, 0);
	if (size < 0)
		return err_sys(e, "could not read journal \"%s\"", j->path);
	bool empty = size < FILE_HEAD || memcmp(&head, &nothing, sizeof head) == 0;
	if (empty && j->mode == JOURNAL_READ)
		return err_set(e, "journal \"%s\" is empty", j->path);
	if (empty) {
		if (ftruncate(fd, 0) < 0 || !file_prepare(fd, j->path) || !head_write(fd, 0))
			return err_sys(e, "could not prepare journal \"%s\"", j->path);
		j->base = 0;
		return true;
	}
	if (memcmp(head.magic, magic, sizeof magic) != 0 || (int64_t)le64toh(head.base) < 0)
		return err_set(e, "\"%s\" is not a journal", j->path);
	j->base = (int64_t)le64toh(head.base);
	return true;
}

static bool file_open(struct journal *j, struct err *e)
{
	int flags = (j->mode == JOURNAL_WRITE ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd = open(j->path, flags, 0600);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		err_sys(e, "could not open journal \"%s\"", j->path);
	else if (!S_ISREG(st.st_mode))
		err_set(e, "journal \"%s\" is no regular file", j->path);
	else if (j->mode == JOURNAL_WRITE && st.st_uid != geteuid())
		err_set(e, "journal \"%s\" belongs to user %ld", j->path, (long)st.st_uid);
	else if (head_check(j, fd, e)) {
		if (j->fd >= 0)
			close(j->fd);
		j->fd = fd;
		j->checked = j->base;
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

/* Make `fd` the file that PATH names: another one since a truncation. */
static bool file_follow(struct journal *j, struct err *e)
{
	struct stat named, open_one;
	j->window_size = 0;
	if (j->fd >= 0 && stat(j->path, &named) == 0 && fstat(j->fd, &open_one) == 0 && named.st_ino == open_one.st_ino &&
	    named.st_dev == open_one.st_dev)
		return true;
	return file_open(j, e);
}

/* The lock: a descriptor to give back, -1 on failure. Opened anew each time, since a forked child would share an older one. */
static int lock_take(const struct journal *j, struct err *e)
{
	char *path = xasprintf("%s.lock", j->path);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	while (fd >= 0 && flock(fd, LOCK_EX) < 0)
		if (errno != EINTR) {
			close(fd);
			fd = -1;
		}
	if (fd < 0)
		err_sys(e, "could not lock \"%s\"", path);
	free(path);
	return fd;
}

/* records */

/* `size` bytes of the file at `position`, or NULL where it has not that many; good until the next call. */
static const char *window_get(struct journal *j, int64_t position, size_t size)
{
	if (position < j->window_at || position + (int64_t)size > j->window_at + (int64_t)j->window_size) {
		ssize_t n = read_at(j->fd, j->window, WINDOW, offset_of(j, position));
		j->window_at = position;
		j->window_size = n > 0 ? (size_t)n : 0;
		if (j->window_size < size)
			return NULL;
	}
	return j->window + (position - j->window_at);
}

/* The payload of the whole record at `position`; NULL at the end and at a torn one. */
static const char *record_get(struct journal *j, int64_t position, uint32_t *length)
{
	uint32_t head[2];
	const char *bytes = window_get(j, position, RECORD_HEAD);
	if (!bytes)
		return NULL;
	memcpy(head, bytes, sizeof head);
	*length = le32toh(head[0]);
	if (*length == 0 || *length > RECORD_LONGEST)
		return NULL;
	bytes = window_get(j, position, RECORD_HEAD + *length);
	if (!bytes || crc32(0, (const unsigned char *)bytes + RECORD_HEAD, *length) != le32toh(head[1]))
		return NULL;
	return bytes + RECORD_HEAD;
}

/* Under the lock: look at what was appended since, and cut a torn tail. */
static bool tail_check(struct journal *j, struct err *e)
{
	uint32_t length;
	struct stat st;
	while (record_get(j, j->checked, &length))
		j->checked += RECORD_HEAD + length;
	off_t end = offset_of(j, j->checked);
	if (fstat(j->fd, &st) < 0)
		return err_sys(e, "could not look at journal \"%s\"", j->path);
	if (st.st_size <= end)
		return true;
	log_warning("journal \"%s\": cut a torn tail of %" PRId64 " bytes at position %" PRId64, j->path,
		    (int64_t)(st.st_size - end), j->checked);
	j->window_size = 0;
	return ftruncate(j->fd, end) == 0 || err_sys(e, "could not cut journal \"%s\"", j->path);
}

/* Lock, follow, check: what every writer does first. Returns the lock's descriptor or -1. */
static int write_begin(struct journal *j, struct err *e)
{
	if (j->mode != JOURNAL_WRITE)
		die("journal \"%s\" is open for reading only", j->path);
	int lock = lock_take(j, e);
	if (lock >= 0 && file_follow(j, e) && tail_check(j, e))
		return lock;
	if (lock >= 0)
		close(lock);
	return -1;
}

struct journal *journal_open(const char *path, enum journal_mode mode, struct err *e)
{
	struct journal *j = xcalloc(1, sizeof *j);
	j->path = xstrdup(path);
	j->mode = mode;
	j->fd = -1;
	j->window = xmalloc(WINDOW);
	if (mode == JOURNAL_READ) {
		if (file_open(j, e))
			return j;
	} else {
		int lock = write_begin(j, e);
		if (lock >= 0) {
			close(lock);
			return j;
		}
	}
	journal_close(j);
	return NULL;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	free(j->window);
	free(j->path);
	free(j);
}

bool journal_append(struct journal *j, const struct fields *record, struct err *e)
{
	size_t length;
	const char *text = fields_text(record, &length);
	if (length == 0 || length > RECORD_LONGEST)
		return err_set(e, "a journal record of %zu bytes", length);
	int lock = write_begin(j, e);
	if (lock < 0)
		return false;
	uint32_t head[2] = {htole32((uint32_t)length), htole32((uint32_t)crc32(0, (const unsigned char *)text, (uInt)length))};
	char *bytes = xmalloc(RECORD_HEAD + length);
	memcpy(bytes, head, RECORD_HEAD);
	memcpy(bytes + RECORD_HEAD, text, length);
	off_t end = offset_of(j, j->checked);
	bool ok = write_at(j->fd, bytes, RECORD_HEAD + length, end);
	free(bytes);
	if (ok)
		j->checked += RECORD_HEAD + (int64_t)length;
	else {
		err_sys(e, "could not write journal \"%s\"", j->path);
		if (ftruncate(j->fd, end) < 0)
			log_warning("journal \"%s\" keeps a torn tail", j->path);
	}
	close(lock);
	return ok;
}

bool journal_read(struct journal *j, int64_t *position, bool (*each)(const struct fields *record, void *arg), void *arg,
		  struct err *e)
{
	if (!file_follow(j, e))
		return false;
	struct stat st;
	if (fstat(j->fd, &st) < 0)
		return err_sys(e, "could not look at journal \"%s\"", j->path);
	int64_t at = *position < j->base ? j->base : *position;
	if (offset_of(j, at) > st.st_size)
		return err_set(e, "position %" PRId64 " is behind the end of journal \"%s\"", at, j->path);
	for (;;) {
		uint32_t length;
		const char *text = record_get(j, at, &length);
		*position = at;
		if (!text)
			return true;
		struct fields *record = fields_parse(text, length, e);
		if (!record)
			return false;
		bool more = each(record, arg);
		fields_free(record);
		if (!more)
			return true;
		at += RECORD_HEAD + (int64_t)length;
	}
}

/* truncation */

struct rewriting {
	char *kept; /* records, in their order */
	size_t size;
};

/* Gather the records before `position` that are to be kept. */
static bool kept_gather(struct journal *j, int64_t position, bool (*keep)(const struct fields *, void *), void *arg,
			struct rewriting *r, struct err *e)
{
	int64_t at = j->base;
	while (at < position) {
		uint32_t length;
		const char *text = record_get(j, at, &length);
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

/* Head, kept records, and what stands from `position` on, into `fd`. */
static bool rest_write(struct journal *j, int fd, int64_t position, const struct rewriting *r)
{
	off_t to = FILE_HEAD + (off_t)r->size;
	if (!file_prepare(fd, j->path) || !head_write(fd, position - (int64_t)r->size) ||
	    !write_at(fd, r->kept, r->size, FILE_HEAD))
		return false;
	j->window_size = 0; /* the window serves as buffer */
	for (off_t from = offset_of(j, position), end = offset_of(j, j->checked); from < end;) {
		size_t most = end - from < WINDOW ? (size_t)(end - from) : WINDOW;
		ssize_t n = read_at(j->fd, j->window, most, from);
		if (n <= 0 || !write_at(fd, j->window, (size_t)n, to))
			return false;
		from += n;
		to += n;
	}
	return true;
}

static bool file_replace(struct journal *j, int64_t position, const struct rewriting *r, struct err *e)
{
	char *beside = xasprintf("%s.new", j->path);
	unlink(beside);
	int fd = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool ok = fd >= 0 && rest_write(j, fd, position, r) && rename(beside, j->path) == 0;
	if (!ok) {
		err_sys(e, "could not rewrite journal \"%s\"", j->path);
		unlink(beside);
	}
	if (fd >= 0)
		close(fd);
	free(beside);
	return ok && file_follow(j, e);
}

bool journal_truncate(struct journal *j, int64_t position, bool (*keep)(const struct fields *record, void *arg), void *arg,
		      struct err *e)
{
	struct rewriting r = {0};
	int lock = write_begin(j, e);
	if (lock < 0)
		return false;
	bool ok = position <= j->checked ||
		  err_set(e, "position %" PRId64 " is behind the end of journal \"%s\"", position, j->path);
	if (ok && position > j->base)
		ok = kept_gather(j, position, keep, arg, &r, e) && file_replace(j, position, &r, e);
	free(r.kept);
	close(lock);
	return ok;
}

int64_t journal_size(const struct journal *j)
{
	struct stat st;
	return stat(j->path, &st) == 0 ? st.st_size : 0;
}
