/* substep_journal.h - the step manager's journal: JSON lines, from which it recovers and procmgrd reports (docs/formats.md). */
#ifndef ROTA_PROCMGR_SUBSTEP_JOURNAL_H
#define ROTA_PROCMGR_SUBSTEP_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

#define SUBSTEP_JOURNAL_FULL "53100" /* SQLSTATE disk_full */

/* Lock the journal for this process, and for its children until they execute a program. Waits until the children of
 * an earlier step manager have done so, too. */
void substep_journal_lock(int fd);

/* Append a record of this kind; takes ownership of `record`. Adds the members `kind` and `at` (clock_boot_us). Ends the process if
 * the journal cannot be written: the keeper starts the step manager again. */
void substep_journal_append(int fd, const char *kind, json_t *record);

/* Append a record whose further members, JSON text, are printed by `format`. The values must need no escapes. A JSON object for
 * the record would cost several times as much. */
void substep_journal_append_text(int fd, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Append a record as text from the new process of a task, which shares the memory of its parent and so must not allocate any.
 * Returns false with errno. */
bool substep_journal_try_text(int fd, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Reserve disk space for `bytes` more bytes of the journal. Returns false, with the SQLSTATE of a full disk in the error, if the
 * disk has no room. */
bool substep_journal_reserve(int fd, int64_t bytes, struct err *e);

/* Returns the number that a journal record has as its member `name`; 0: the record has no such number. */
int64_t substep_journal_number(const json_t *record, const char *name);

/* Call `each` for every whole record. Cuts off a record that was not written whole. */
void substep_journal_read(int fd, void (*each)(json_t *record, const char *kind, void *arg), void *arg);

#endif
