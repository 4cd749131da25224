/* substep_spool.c - output of tasks in memory.
 *
 * Called by: substep_drain.c and substep_part.c (add output), substep_reader.c (reads it).
 * Invariants:
 * - The memory of a spool counts as memory of the step. A spool keeps only its last SUBSTEP_SPOOL_MOST bytes. */
#include "procmgr/stepmgr/substep_spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool substep_spool_make(struct substep_spool *spool, struct err *e)
{
	spool->lowest = spool->size = 0;
	spool->fd = memfd_create("rota-output", MFD_CLOEXEC);
	return (spool->fd >= 0 && fcntl(spool->fd, F_SETFL, O_APPEND) == 0) || err_sys(e, "could not make a spool for output");
}

void substep_spool_adopt(struct substep_spool *spool, int fd)
{
	off_t first = lseek(fd, 0, SEEK_DATA); /* lseek() fails if the file has no byte */
	struct stat st;
	substep_spool_close(spool);
	spool->fd = fd;
	spool->size = fstat(fd, &st) == 0 ? st.st_size : 0;
	spool->lowest = first > 0 ? first : 0;
}

/* Truncate the file before it is closed: the store may keep it open for a while. */
void substep_spool_drop(struct substep_spool *spool)
{
	if (spool->fd >= 0 && ftruncate(spool->fd, 0) == 0)
		spool->lowest = spool->size = 0;
	substep_spool_close(spool);
}

void substep_spool_close(struct substep_spool *spool)
{
	if (spool->fd >= 0)
		close(spool->fd);
	spool->fd = -1;
}

bool substep_spool_skip(struct substep_spool *spool, int64_t offset)
{
	if (spool->fd < 0 || ftruncate(spool->fd, offset) < 0)
		return false;
	spool->lowest = spool->size = offset;
	return true;
}

/* Drop the bytes before the offset, in whole pages; readers are sent how many they miss. Returns false if none could be
 * dropped. */
static bool drop_before(struct substep_spool *spool, int64_t offset)
{
	enum { PAGE = 4096 };
	int64_t lowest = offset / PAGE * PAGE;
	if (lowest <= spool->lowest ||
	    fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, spool->lowest, lowest - spool->lowest) < 0)
		return false;
	spool->lowest = lowest;
	return true;
}

void substep_spool_add(struct substep_spool *spool, const void *bytes, size_t size)
{
	const char *at = bytes;
	while (spool->fd >= 0 && size > 0) {
		ssize_t part = write(spool->fd, at, size);
		/* If the memory of the step is full, drop old output to have room for new output. */
		if (part <= 0 && !drop_before(spool, spool->size))
			return;
		at += part > 0 ? part : 0;
		spool->size += part > 0 ? part : 0;
		size -= part > 0 ? (size_t)part : 0;
	}
	if (spool->size - spool->lowest > SUBSTEP_SPOOL_MOST)
		drop_before(spool, spool->size - SUBSTEP_SPOOL_MOST / 2);
}

ssize_t substep_spool_read(const struct substep_spool *spool, int64_t offset, void *bytes, size_t size)
{
	ssize_t got = spool->fd < 0 ? 0 : pread(spool->fd, bytes, size, offset);
	return got > 0 ? got : 0;
}
