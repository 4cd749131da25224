/* journal_inside.h - the private structures of a journal handle, for the files journal*.c only. */
#ifndef ROTA_JOURNAL_INSIDE_H
#define ROTA_JOURNAL_INSIDE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "lib/journal.h"
#include "lib/journal_reservation.h"

enum { RECORD_HEAD = 8, RECORD_LONGEST = 1 << 20, WINDOW = 1 << 16, FILE_HEAD = 16 };

/* A buffer of records in the format of the journal file. */
struct journal_bytes {
	char *bytes;
	size_t size, capacity;
};

struct journal {
	char *path;
	enum journal_mode mode;
	int fd;
	dev_t device; /* device and inode of the file that fd is open on */
	ino_t inode;
	/* Descriptor of PATH.lock, used only by the process `locker`. A forked child opens PATH.lock itself, since with this
	 * descriptor it would share its parent's lock. */
	int lock;
	pid_t locker;
	int64_t base;		       /* logical position of byte FILE_HEAD */
	int64_t checked;	       /* every record before this position is whole */
	struct journal_common *common; /* NULL: the journal is open for reading only */
	off_t size;		       /* size of the file when journal_follow() last read it */
	int64_t reservation;	       /* bytes of the latest reservation after the end of the file */
	char *window;		       /* bytes of the file, from position window_at on */
	int64_t window_at;
	size_t window_size, window_capacity;
	bool gathers; /* appended records are buffered until journal_put() */
	struct journal_bytes gathered;
};

static inline off_t journal_offset(const struct journal *j, int64_t position)
{
	return FILE_HEAD + (position - j->base);
}

bool journal_write_at(int fd, const void *data, size_t size, off_t at);
ssize_t journal_read_at(int fd, void *data, size_t size, off_t at);

/* Write the head of a journal file, and set the group and mode of the file. */
bool journal_head_write(int fd, int64_t base);
bool journal_file_prepare(int fd, const char *path);

/* Make sure that the file that PATH names now is open, and set *st to its status. */
bool journal_follow(struct journal *j, struct stat *st, struct err *e);

/* Start to write: take the lock, open the file that PATH names now, cut a torn tail. After success the writer must call
 * journal_end(). */
bool journal_begin(struct journal *j, struct err *e);
void journal_end(struct journal *j);

/* Returns the payload of the record at `position`, or NULL if there is none or it is torn. The payload is valid until the next
 * call. */
const char *journal_record(struct journal *j, int64_t position, uint32_t *length);

/* journal_common.c: memory shared by the process that opened the journal and its forked children. The two functions that take a
 * journal are called under the lock. */
struct journal_common *journal_common_new(void);
void journal_common_free(struct journal_common *c);
void journal_common_read(struct journal *j);
void journal_common_write(struct journal *j);

#endif
