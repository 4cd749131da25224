/* journal_room.c - room on the disk that is the journal's before it is needed.
 *
 * The launcher reserves, before it starts an attempt, what that attempt and all others under way can still have to say; so whatever
 * fills the disk later, nothing that happened goes unwritten. The room lies behind the end of the file (its size stays as it is,
 * readers see nothing of it) and belongs to the file: it outlives whoever asked for it. What always holds: what is appended uses it
 * up from the front, so room for all who may append is one number. */
#include "lib/journal_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

enum { BLOCK = 512, AHEAD = 256 * 1024 };

int64_t journal_room_behind(const struct stat *st, off_t end)
{
	int64_t room = (int64_t)st->st_blocks * BLOCK - (int64_t)end;
	return room > 0 ? room : 0;
}

bool journal_room_take(int fd, off_t end, int64_t bytes, struct err *e)
{
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, end, bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
		return true;
	return err_sys(e, "could not hold %lld bytes for the journal", (long long)bytes);
}

bool journal_reserve(struct journal *j, int64_t bytes, struct err *e)
{
	struct stat st;
	if (!journal_begin(j, e))
		return false;
	off_t end = journal_offset(j, j->checked);
	j->room = bytes;
	bool held = fstat(j->fd, &st) == 0 && journal_room_behind(&st, end) >= bytes;
	/* A little more at once, so that not every start has to ask. */
	held = held || journal_room_take(j->fd, end, bytes + AHEAD, e) || journal_room_take(j->fd, end, bytes, e);
	journal_end(j);
	return held;
}

int64_t journal_reserved(const struct journal *j)
{
	struct stat st;
	return fstat(j->fd, &st) == 0 ? journal_room_behind(&st, st.st_size) : 0;
}
