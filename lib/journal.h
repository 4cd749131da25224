/* journal.h - a node's journal: one file of records that launcher and keepers append to and procmgrd reads.
 *
 * The file begins with a magic number and the logical position of its first record; a record is a header (length, CRC-32 of the
 * payload) and a payload of fields (lib/fields.h). Positions count bytes of the whole stream ever written, so they stay good
 * across truncations. An append takes the lock (PATH.lock, root's alone, so that no reader can hold up a keeper), writes once,
 * and lets go; a torn tail (a crash in mid-write) is where a reader stops and is cut, and logged, by the next appender.
 * Truncation drops a prefix under the same lock by rewriting what is left beside the file and renaming; whoever holds the old
 * file notices by inode and opens anew. So nobody needs to know who else is alive. A forked child may go on with its parent's
 * handle. */
#ifndef ROTA_JOURNAL_H
#define ROTA_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/fields.h"

/* READ: of an existing file, by the unprivileged procmgrd. WRITE: append, truncate and read; makes the file where it is absent
 * (mode 0640, the group of its folder) and refuses one that belongs to somebody else. */
enum journal_mode { JOURNAL_READ, JOURNAL_WRITE };

struct journal;

struct journal *journal_open(const char *path, enum journal_mode mode, struct err *e);
void journal_close(struct journal *j);

/* Append one record durably against the death of any process (not of the machine). */
bool journal_append(struct journal *j, struct fields *record, struct err *e);
/* The same for several in one write: of these, a crash leaves none, all, or the first ones. */
bool journal_append_all(struct journal *j, struct fields *const *records, int count, struct err *e);

/* From here on keep what is appended until journal_put writes all of it in one go: for records of which nobody has to know before that.
 * Where it cannot be written, journal_put may be tried again. */
void journal_gather(struct journal *j);
bool journal_put(struct journal *j, struct err *e);

/* Call `each` for every whole record from *position on (0, or what an earlier read left there), and move *position behind the
 * last one; a position before the first record left means that one. Stops early when `each` returns false (the position then
 * stands before that record). `each` may append to `j`. */
bool journal_read(struct journal *j, int64_t *position, bool (*each)(const struct fields *record, void *arg), void *arg,
		  struct err *e);

/* Drop everything before `position`, except the records for which `keep` (may be NULL) says true: they then stand right before
 * `position`, which goes on to mean the same record. */
bool journal_truncate(struct journal *j, int64_t position, bool (*keep)(const struct fields *record, void *arg), void *arg,
		      struct err *e);

/* Bytes of records before `position`: after a truncation, those that it kept. */
int64_t journal_kept(const struct journal *j, int64_t position);

/* Have room for `bytes` behind the end, whatever happens to the disk later; false with the reason where there is none. The same room
 * is taken again at each truncation. Where the file system cannot hold room it is taken for granted. */
bool journal_reserve(struct journal *j, int64_t bytes, struct err *e);

/* The room there is, by whoever it was reserved; about right, never less. */
int64_t journal_reserved(const struct journal *j);

/* What a forked child has to keep open to go on with it. */
int journal_descriptor(const struct journal *j);

/* Bytes in the file now, torn tail included. */
int64_t journal_size(const struct journal *j);

#endif
