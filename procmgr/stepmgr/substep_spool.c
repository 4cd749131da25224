/* substep_spool.c - output of tasks in memory.
 *
 * Called by: substep_engine.c (spools of tasks), substep_client.c (reads them).
 * Invariants:
 * - A task writes into a file, so no reader and no step manager ever blocks it. The file outlives the step manager: the task has
 *   it open, and the store (substep_store.c).
 * - The memory counts for the step. Only the last SUBSTEP_SPOOL_MOST bytes are kept. */
#include "procmgr/stepmgr/substep_spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool substep_spool_make(struct substep_spool *spool, struct err *e)
{
	spool->lowest = 0;
	spool->fd = memfd_create("rota-output", MFD_CLOEXEC);
	/* The descriptor of the task appends: several processes may write. */
	return (spool->fd >= 0 && fcntl(spool->fd, F_SETFL, O_APPEND) == 0) || err_sys(e, "could not make a spool for output");
}

void substep_spool_adopt(struct substep_spool *spool, int fd)
{
	off_t first = lseek(fd, 0, SEEK_DATA); /* fails if there is no byte */
	substep_spool_close(spool);
	spool->fd = fd;
	spool->lowest = first > 0 ? first : 0;
}

/* The file is emptied, since the store may have it open for a while. */
void substep_spool_drop(struct substep_spool *spool)
{
	if (spool->fd >= 0 && ftruncate(spool->fd, 0) == 0)
		spool->lowest = 0;
	substep_spool_close(spool);
}

void substep_spool_close(struct substep_spool *spool)
{
	if (spool->fd >= 0)
		close(spool->fd);
	spool->fd = -1;
}

int64_t substep_spool_size(struct substep_spool *spool)
{
	enum { PAGE = 4096 };
	struct stat st;
	if (spool->fd < 0 || fstat(spool->fd, &st) < 0)
		return 0;
	int64_t size = st.st_size, lowest = (size - SUBSTEP_SPOOL_MOST / 2) / PAGE * PAGE;
	if (size - spool->lowest > SUBSTEP_SPOOL_MOST &&
	    fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, spool->lowest, lowest - spool->lowest) == 0)
		spool->lowest = lowest;
	return size;
}

ssize_t substep_spool_read(const struct substep_spool *spool, int64_t offset, void *bytes, size_t size)
{
	ssize_t got = spool->fd < 0 ? 0 : pread(spool->fd, bytes, size, offset);
	return got > 0 ? got : 0;
}
