/* journal_reservation.c - reserves disk blocks after the end of a journal (journal_reservation.h).
 *
 * Called by: journal.c and journal_truncate.c; substep_journal.c.
 * Invariants:
 * - Reserved blocks belong to the file, not to the process that reserved them. They do not change the file's size.
 * - Each append uses the first reserved blocks. So one reservation serves all processes that append. */
#include "lib/journal_reservation.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>

enum { BLOCK = 512 }; /* the unit of st_blocks */

int64_t journal_reservation_behind(const struct stat *st, off_t end)
{
	int64_t bytes = (int64_t)st->st_blocks * BLOCK - (int64_t)end;
	return bytes > 0 ? bytes : 0;
}

bool journal_reservation_take(int fd, off_t end, int64_t bytes, struct err *e)
{
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, end, bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
		return true;
	return err_sys(e, "could not reserve %lld bytes for the journal", (long long)bytes);
}
