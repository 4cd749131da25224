/* journal.h - a node's journal: one file of records that launcher and keepers append to and procmgrd reads.
 *
 * The file begins with a magic number and the logical position of its first record. A record is a header (length, CRC-32 of the
 * payload) and a payload of fields (lib/fields.h). Positions count bytes of the whole stream ever written, so they stay valid
 * after truncations.
 * Invariants:
 * - An append takes the lock PATH.lock, which only root can open, so that no reader can hold it, and writes once.
 * - A crash during a write leaves a torn tail. A reader stops there; the next writer cuts it and logs that.
 * - A truncation writes the remaining records to a new file under the same lock and renames it. Other processes notice the new
 *   inode and open the new file.
 * - A forked child may use its parent's handle. */
#ifndef ROTA_JOURNAL_H
#define ROTA_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/fields.h"

/* JOURNAL_READ: read an existing file; procmgrd does, without privileges. JOURNAL_WRITE: append, truncate and read; makes a
 * missing file (mode 0640, the group of its folder) and refuses one that belongs to another user. */
enum journal_mode { JOURNAL_READ, JOURNAL_WRITE };

struct journal;

struct journal *journal_open(const char *path, enum journal_mode mode, struct err *e);
void journal_close(struct journal *j);

/* Append one record. It survives the death of any process, but not of the machine. */
bool journal_append(struct journal *j, struct fields *record, struct err *e);
/* Append several records in one write. A crash leaves none, all, or the first ones. */
bool journal_append_all(struct journal *j, struct fields *const *records, int count, struct err *e);

/* Buffer the records appended from now on; journal_put writes all of them at once. After an error journal_put may be called
 * again. */
void journal_gather(struct journal *j);
bool journal_put(struct journal *j, struct err *e);

/* Call `each` for every whole record from *position on, and set *position to the end of the last record read. *position is 0 or
 * as an earlier call left it; one before the first record of the file means the first record. If `each` returns false, reading
 * stops and *position is that of the record that `each` got. `each` may append to `j`. */
bool journal_read(struct journal *j, int64_t *position, bool (*each)(const struct fields *record, void *arg), void *arg,
		  struct err *e);

/* Drop all records before `position`, except those for which `keep` returns true. `keep` may be NULL. The kept records are moved
 * to right before `position`, so every later record keeps its position. */
bool journal_truncate(struct journal *j, int64_t position, bool (*keep)(const struct fields *record, void *arg), void *arg,
		      struct err *e);

/* Returns the number of bytes of records in the file before `position`. After a truncation at `position`, these are the records
 * that it kept. */
int64_t journal_kept(const struct journal *j, int64_t position);

/* Reserve `bytes` of disk space after the end of the journal, so that appends of that size succeed on a full disk. Each
 * truncation makes the same reservation for the new file. Also returns true if the file system cannot reserve space. */
bool journal_reserve(struct journal *j, int64_t bytes, struct err *e);

/* Returns the number of bytes of disk space that any process has reserved after the end of the journal. */
int64_t journal_reserved(const struct journal *j);

/* Returns the descriptor that a forked child must keep open to use the journal handle of its parent. */
int journal_descriptor(const struct journal *j);

/* Returns the present size of the journal file in bytes, including a torn tail. */
int64_t journal_size(const struct journal *j);

#endif
