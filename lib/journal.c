/* journal.c - appends to a journal and reads it. journal.h describes the format; journal_truncate.c drops the front.
 *
 * Called by: the launcher and its keepers, which append; procmgrd and a restarted launcher, which read.
 * Invariants:
 * - Under the lock, `fd` is open on the file that PATH names.
 * - Records after one with a wrong checksum are never used.
 * - A tail that is cut never has a whole record. */
#include "lib/journal_inside.h"

#include <assert.h>
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

#include "lib/crash.h"
#include "lib/log.h"

enum { RESERVE_EXTRA = 256 * 1024 };

static const char magic[8] = "ROTAJRN1";

struct file_head {
	char magic[8];
	uint64_t base; /* little endian: logical position of the first record */
};

static_assert(sizeof(struct file_head) == FILE_HEAD, "the head of a journal has 16 bytes");

bool journal_write_at(int fd, const void *data, size_t size, off_t at)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pwrite(fd, (const char *)data + done, size - done, at + (off_t)done);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

ssize_t journal_read_at(int fd, void *data, size_t size, off_t at)
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

/* the journal file and its head */

bool journal_head_write(int fd, int64_t base)
{
	struct file_head head = {.base = htole64((uint64_t)base)};
	memcpy(head.magic, magic, sizeof magic);
	return journal_write_at(fd, &head, sizeof head, 0);
}

/* Make a new journal file readable by the group of its folder, which is that of procmgrd. */
bool journal_file_prepare(int fd, const char *path)
{
	char *copy = xstrdup(path);
	struct stat folder;
	bool ok = stat(dirname(copy), &folder) == 0 && (fchown(fd, (uid_t)-1, folder.st_gid) == 0 || errno == EPERM) &&
		  fchmod(fd, 0640) == 0;
	free(copy);
	return ok;
}

/* Read the head of a journal file. A writer, which holds the lock, writes the head if the file is new or a crash left it without
 * one. */
static bool head_check(struct journal *j, int fd, struct err *e)
{
	static const struct file_head nothing;
	struct file_head head = {0};
	ssize_t size = journal_read_at(fd, &head, sizeof head, 0);
	if (size < 0)
		return err_sys(e, "could not read journal \"%s\"", j->path);
	bool empty = size < FILE_HEAD || memcmp(&head, &nothing, sizeof head) == 0;
	if (empty && j->mode == JOURNAL_READ)
		return err_set(e, "journal \"%s\" is empty", j->path);
	if (empty) {
		if (ftruncate(fd, 0) < 0 || !journal_file_prepare(fd, j->path) || !journal_head_write(fd, 0))
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
		j->device = st.st_dev;
		j->inode = st.st_ino;
		j->checked = j->base;
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

/* Open the file that PATH names now, since a truncation replaces the file. No other file can have the inode number of an open
 * file. */
bool journal_follow(struct journal *j, struct stat *st, struct err *e)
{
	j->window_size = 0;
	bool same = j->fd >= 0 && stat(j->path, st) == 0 && st->st_ino == j->inode && st->st_dev == j->device;
	if (!same && (!file_open(j, e) || (fstat(j->fd, st) < 0 && !err_sys(e, "could not stat journal \"%s\"", j->path))))
		return false;
	j->size = st->st_size;
	return true;
}

/* Open PATH.lock, unless this process has opened it before. A forked child needs a descriptor of its own. */
static bool lock_open(struct journal *j, struct err *e)
{
	if (j->lock >= 0 && j->locker == getpid())
		return true;
	char *path = xasprintf("%s.lock", j->path);
	j->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	j->locker = getpid();
	if (j->lock < 0)
		err_sys(e, "could not open \"%s\"", path);
	free(path);
	return j->lock >= 0;
}

static bool lock_take(struct journal *j, struct err *e)
{
	if (!lock_open(j, e))
		return false;
	while (flock(j->lock, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, "could not lock \"%s.lock\"", j->path);
	return true;
}

void journal_end(struct journal *j)
{
	flock(j->lock, LOCK_UN);
}

/* records */

/* Returns `size` bytes of the journal at `position`, valid until the next call. Returns NULL if the file had fewer bytes when
 * journal_follow() read its size. */
static const char *window_get(struct journal *j, int64_t position, size_t size)
{
	if (position < j->window_at || position + (int64_t)size > j->window_at + (int64_t)j->window_size) {
		off_t left = j->size - journal_offset(j, position);
		if (left < (off_t)size)
			return NULL;
		if (size > j->window_capacity)
			j->window = xrealloc(j->window, j->window_capacity = size);
		size_t most = left < (off_t)j->window_capacity ? (size_t)left : j->window_capacity;
		ssize_t n = journal_read_at(j->fd, j->window, most, journal_offset(j, position));
		j->window_at = position;
		j->window_size = n > 0 ? (size_t)n : 0;
		if (j->window_size < size)
			return NULL;
	}
	return j->window + (position - j->window_at);
}

/* Returns the payload of the record at `position`, or NULL at the end of the journal and at a torn record. */
const char *journal_record(struct journal *j, int64_t position, uint32_t *length)
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

/* Cut the journal file at `end`. Cutting frees the disk space that is reserved after `end`, so the function reserves it again. */
static bool tail_cut(struct journal *j, const struct stat *st, off_t end)
{
	int64_t reserved = journal_reservation_behind(st, end);
	struct err e;
	j->window_size = 0;
	if (ftruncate(j->fd, end) < 0)
		return false;
	if (reserved > 0 && !journal_reservation_take(j->fd, end, reserved, &e))
		log_warning("journal \"%s\": %s", j->path, e.message);
	return true;
}

/* Under the lock: check the records that other processes appended, and cut a torn tail. */
static bool tail_check(struct journal *j, const struct stat *st, struct err *e)
{
	uint32_t length;
	journal_common_read(j);
	while (st->st_size > journal_offset(j, j->checked) && journal_record(j, j->checked, &length))
		j->checked += RECORD_HEAD + length;
	journal_common_write(j);
	off_t end = journal_offset(j, j->checked);
	if (st->st_size <= end)
		return true;
	log_warning("journal \"%s\": removed an incomplete record of %" PRId64 " bytes at position %" PRId64, j->path,
		    (int64_t)(st->st_size - end), j->checked);
	return tail_cut(j, st, end) || err_sys(e, "could not cut journal \"%s\"", j->path);
}

/* Start to write: take the lock, open the file that PATH names now, and cut a torn tail. */
bool journal_begin(struct journal *j, struct err *e)
{
	struct stat st;
	if (j->mode != JOURNAL_WRITE)
		die("journal \"%s\" is open for reading only", j->path);
	if (!lock_take(j, e))
		return false;
	if (journal_follow(j, &st, e) && tail_check(j, &st, e))
		return true;
	journal_end(j);
	return false;
}

struct journal *journal_open(const char *path, enum journal_mode mode, struct err *e)
{
	struct journal *j = xcalloc(1, sizeof *j);
	j->path = xstrdup(path);
	j->mode = mode;
	j->fd = j->lock = -1;
	if (mode == JOURNAL_WRITE)
		j->common = journal_common_new();
	j->window = xmalloc(j->window_capacity = WINDOW);
	bool opened = mode == JOURNAL_READ ? file_open(j, e) : journal_begin(j, e);
	if (opened && mode == JOURNAL_WRITE)
		journal_end(j);
	if (opened)
		return j;
	journal_close(j);
	return NULL;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	if (j->lock >= 0 && j->locker == getpid())
		close(j->lock);
	journal_common_free(j->common);
	free(j->gathered.bytes);
	free(j->window);
	free(j->path);
	free(j);
}

/* Under the lock: write records at the end of the journal. If that fails, cut the part that was written. */
static bool record_put(struct journal *j, const char *bytes, size_t size, struct err *e)
{
	off_t end = journal_offset(j, j->checked);
	crash_point(CRASH_journal_append_before);
	if (crash_is_due(CRASH_journal_append_half) && journal_write_at(j->fd, bytes, size / 2, end))
		crash_now();
	if (journal_write_at(j->fd, bytes, size, end)) {
		crash_point(CRASH_journal_append_after);
		j->checked += (int64_t)size;
		journal_common_write(j);
		return true;
	}
	err_sys(e, "could not write journal \"%s\"", j->path);
	struct stat st;
	if (fstat(j->fd, &st) < 0 || (st.st_size > end && !tail_cut(j, &st, end)))
		log_warning("journal \"%s\" has an incomplete record at its end; the next write removes it", j->path);
	return false;
}

/* Append a record to a buffer, in the format of the journal file. */
static bool record_gather(struct journal_bytes *g, const struct fields *record, struct err *e)
{
	size_t length;
	const char *text = fields_text(record, &length);
	if (length == 0 || length > RECORD_LONGEST)
		return err_set(e, "a journal record has 1 to 1048576 bytes, this one has %zu", length);
	uint32_t head[2] = {htole32((uint32_t)length), htole32((uint32_t)crc32(0, (const unsigned char *)text, (uInt)length))};
	if (g->size + RECORD_HEAD + length > g->capacity) {
		g->capacity = 2 * g->size + RECORD_HEAD + length;
		g->bytes = xrealloc(g->bytes, g->capacity);
	}
	memcpy(g->bytes + g->size, head, RECORD_HEAD);
	memcpy(g->bytes + g->size + RECORD_HEAD, text, length);
	g->size += RECORD_HEAD + length;
	return true;
}

static bool bytes_put(struct journal *j, const struct journal_bytes *g, struct err *e)
{
	if (!journal_begin(j, e))
		return false;
	bool good = record_put(j, g->bytes, g->size, e);
	journal_end(j);
	return good;
}

bool journal_append_all(struct journal *j, struct fields *const *records, int count, struct err *e)
{
	struct journal_bytes g = {NULL, 0, 0}, *to = j->gathers ? &j->gathered : &g;
	bool good = true;
	for (int i = 0; i < count && good; i++)
		good = record_gather(to, records[i], e);
	good = good && (j->gathers || bytes_put(j, &g, e));
	free(g.bytes);
	return good;
}

void journal_gather(struct journal *j)
{
	j->gathers = true;
}

bool journal_put(struct journal *j, struct err *e)
{
	if (j->gathered.size > 0 && !bytes_put(j, &j->gathered, e))
		return false;
	j->gathers = false;
	j->gathered.size = 0;
	return true;
}

bool journal_append(struct journal *j, struct fields *record, struct err *e)
{
	return journal_append_all(j, &record, 1, e);
}

bool journal_read(struct journal *j, int64_t *position, bool (*each)(const struct fields *record, void *arg), void *arg,
		  struct err *e)
{
	struct stat st;
	if (!journal_follow(j, &st, e))
		return false;
	int64_t at = *position < j->base ? j->base : *position;
	if (journal_offset(j, at) > st.st_size)
		return err_set(e, "position %" PRId64 " is after the end of journal \"%s\"", at, j->path);
	for (;;) {
		uint32_t length;
		const char *text = journal_record(j, at, &length);
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

bool journal_reserve(struct journal *j, int64_t bytes, struct err *e)
{
	struct stat st;
	if (!journal_begin(j, e))
		return false;
	off_t end = journal_offset(j, j->checked);
	j->reservation = bytes;
	bool reserved = fstat(j->fd, &st) == 0 && journal_reservation_behind(&st, end) >= bytes;
	/* Try to reserve more than needed, so that not every start of an attempt has to reserve disk space. */
	reserved = reserved || journal_reservation_take(j->fd, end, bytes + RESERVE_EXTRA, e) ||
		   journal_reservation_take(j->fd, end, bytes, e);
	journal_end(j);
	return reserved;
}

int64_t journal_reserved(const struct journal *j)
{
	struct stat st;
	return fstat(j->fd, &st) == 0 ? journal_reservation_behind(&st, st.st_size) : 0;
}

int64_t journal_size(const struct journal *j)
{
	struct stat st;
	return stat(j->path, &st) == 0 ? st.st_size : 0;
}

int64_t journal_kept(const struct journal *j, int64_t position)
{
	return position - j->base;
}

int journal_descriptor(const struct journal *j)
{
	return j->fd;
}
