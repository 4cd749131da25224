/* journal.h - a node's journal: one file of records that launcher and keepers append to and procmgrd reads and truncates.
 *
 * A record is a header (length, CRC-32 of the payload) and a payload of fields (lib/fields.h). An append takes the file's
 * lock, writes once, and lets go; a torn tail (a crash in mid-write) is cut by the next appender and by the reader, and logged.
 * Truncation drops a prefix under the same lock by rewriting what is left beside the file and renaming; an appender that holds
 * the old file notices by inode and opens anew. So nobody needs to know who else is alive. */
#ifndef ROTA_JOURNAL_H
#define ROTA_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/fields.h"

struct journal;

/* Open (and create, mode 0600, where absent) the journal at PATH. */
struct journal *journal_open(const char *path, struct err *e);
void journal_close(struct journal *j);

/* Append one record durably against the death of any process (not of the machine). */
bool journal_append(struct journal *j, const struct fields *record, struct err *e);

/* Call `each` for every whole record from byte position *position on, and move *position behind the last one.
 * Stops early when `each` returns false (the position then stands before that record). */
bool journal_read(struct journal *j, int64_t *position, bool (*each)(const struct fields *record, void *arg), void *arg, struct err *e);

/* Drop everything before `position`, except the records for which `keep` (may be NULL) says true; *position is set to where
 * what was unread now begins. */
bool journal_truncate(struct journal *j, int64_t *position, bool (*keep)(const struct fields *record, void *arg), void *arg,
		      struct err *e);

/* Bytes in the file now, torn tail included. */
int64_t journal_size(const struct journal *j);

#endif
