/* journal_inside.h - the inside of a journal, for journal.c, journal_truncate.c, journal_reservation.c and journal_common.c only. */
#ifndef ROTA_JOURNAL_INSIDE_H
#define ROTA_JOURNAL_INSIDE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "lib/journal.h"

enum { RECORD_HEAD = 8, RECORD_LONGEST = 1 << 20, WINDOW = 1 << 16, FILE_HEAD = 16 };

/* Records in the format of the file. */
struct journal_bytes {
	char *bytes;
	size_t size, capacity;
};

struct journal {
	char *path;
	enum journal_mode mode;
	int fd;
	dev_t device; /* of the file that fd is open on */
	ino_t inode;
	int lock; /* descriptor of PATH.lock, of the process `locker`; a forked child would share the lock */
	pid_t locker;
	int64_t base;		       /* logical position of byte FILE_HEAD */
	int64_t checked;	       /* every record before this position is whole */
	struct journal_common *common; /* NULL: it is open for reading only */
	off_t size;		       /* of the file, when journal_follow() last read it */
	int64_t reservation;	       /* bytes last reserved behind the end */
	char *window;		       /* bytes of the file, from window_at on */
	int64_t window_at;
	size_t window_size, window_capacity;
	bool gathers; /* see journal_gather */
	struct journal_bytes gathered;
};

static inline off_t journal_offset(const struct journal *j, int64_t position)
{
	return FILE_HEAD + (position - j->base);
}

bool journal_write_at(int fd, const void *data, size_t size, off_t at);
ssize_t journal_read_at(int fd, void *data, size_t size, off_t at);

/* A file's head, its owner's group and mode. */
bool journal_head_write(int fd, int64_t base);
bool journal_file_prepare(int fd, const char *path);

/* Open the file that PATH names now; *st is its status. */
bool journal_follow(struct journal *j, struct stat *st, struct err *e);

/* Every writer starts with journal_begin: lock, follow, cut a torn tail. After success the writer must call journal_end. */
bool journal_begin(struct journal *j, struct err *e);
void journal_end(struct journal *j);

/* The payload of the whole record at `position`; NULL at the end and at a torn one. Good until the next call. */
const char *journal_record(struct journal *j, int64_t position, uint32_t *length);

/* journal_common.c: memory shared by the process that opened the journal and those forked from it. Call these under the lock. */
struct journal_common *journal_common_new(void);
void journal_common_free(struct journal_common *c);
void journal_common_read(struct journal *j);
void journal_common_write(struct journal *j);

/* journal_reservation.c: bytes that the file system has reserved for a file behind `end`; 0 where it does not report them. */
int64_t journal_reservation_behind(const struct stat *st, off_t end);

/* Reserve `bytes` behind `end`. True as well where the file system cannot reserve. */
bool journal_reservation_take(int fd, off_t end, int64_t bytes, struct err *e);

#endif
