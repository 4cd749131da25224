/* dmtcp_space.c - adds up what DMTCP may write for the processes of a step, and checks that the disk has as much (dmtcp_space.h).
 *
 * Called by: driver_dmtcp.c.
 * Invariants:
 * - DMTCP ends a program when it cannot write the program's image. So it is not asked to write on a disk that is too small. */
#include "procmgr/checkpoint/dmtcp_space.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "procmgr/checkpoint/process_tree.h"

/* HEAD_BYTES: the header of a part of an image. BLOCK: bytes of memory that DMTCP writes together if one of them is not 0. MORE_BYTES: for
 * what the program allocates meanwhile. */
enum { HEAD_BYTES = 4096, BLOCK = 1 << 20, PAGE_LEAST = 4096, MORE_BYTES = 4 << 20 };

static const uint64_t READ_MOST = 64ULL << 30;	/* bytes */
static const uint64_t page_in_use = 3ULL << 62; /* in memory or in swap (pagemap(5)) */

/* Returns the bytes that DMTCP writes for private memory of no file: blocks of which a page is in use. A page that is not has
 * zeros. `pagemap`: that file of the process. */
static int64_t count_blocks(int pagemap, uint64_t from, uint64_t to)
{
	uint64_t pages[BLOCK / PAGE_LEAST], page = (uint64_t)sysconf(_SC_PAGESIZE), size;
	int64_t bytes = HEAD_BYTES;
	for (uint64_t at = from; at < to; at += size) {
		size = to - at < BLOCK ? to - at : BLOCK;
		size_t count = size / page;
		bool read_all = pread(pagemap, pages, count * sizeof *pages, (off_t)(at / page * sizeof *pages)) ==
				(ssize_t)(count * sizeof *pages);
		bool in_use = !read_all;
		for (size_t i = 0; i < count && !in_use; i++)
			in_use = (pages[i] & page_in_use) != 0;
		bytes += in_use ? (int64_t)size + HEAD_BYTES : 0;
	}
	return bytes;
}

/* A mapping of a process. `is_memory`: private, of no file; `used`: bytes of it in memory or in swap. */
struct area {
	uint64_t from, to, used;
	bool is_memory;
};

/* Returns the bytes that DMTCP writes for a mapping. Those of a file, or shared, count in full. In one that is too large to be read page by page, each
 * page in use counts as a block of its own. */
static int64_t count_area(int pagemap, const struct area *area)
{
	uint64_t size = area->to - area->from, blocks = area->used / (uint64_t)sysconf(_SC_PAGESIZE);
	if (!area->is_memory)
		return HEAD_BYTES + (int64_t)size;
	if (size > READ_MOST)
		return HEAD_BYTES + (int64_t)(blocks < size / BLOCK ? blocks * BLOCK : size);
	return blocks > 0 ? count_blocks(pagemap, area->from, area->to) : HEAD_BYTES;
}

static int64_t count_process(pid_t pid)
{
	char path[64], line[8192], rights[8];
	int64_t bytes = 2 * HEAD_BYTES;
	uint64_t inode, kib;
	struct area area = {0}, next = {0};
	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
	int pagemap = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
	FILE *maps = fopen(path, "re");
	while (maps && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%lx-%lx %7s %*x %*x:%*x %lu", &next.from, &next.to, rights, &inode) == 4) {
			bytes += count_area(pagemap, &area);
			area = next;
			area.is_memory = inode == 0 && strchr(rights, 'p') != NULL;
		} else if (sscanf(line, "Rss: %lu kB", &kib) == 1 || sscanf(line, "Swap: %lu kB", &kib) == 1) {
			area.used += kib * 1024;
		}
	}
	bytes += count_area(pagemap, &area);
	if (maps)
		fclose(maps);
	if (pagemap >= 0)
		close(pagemap);
	return bytes;
}

int64_t dmtcp_space_count(pid_t root)
{
	int count;
	int64_t bytes = MORE_BYTES;
	struct process_item *all = process_tree_read(&count);
	pid_t keeper = process_tree_parent(root); /* the parent of processes whose parents have ended */
	pid_t top = keeper > 1 ? keeper : root;
	for (int i = 0; i < count; i++)
		if (all[i].pid != keeper && process_tree_has(all, count, all[i].pid, top) && !process_tree_is_own(all[i].pid))
			bytes += count_process(all[i].pid);
	free(all);
	return bytes;
}

/* Reserve so many bytes on the disk for a moment, which also fails if the user's quota does not allow them. */
static bool reserve(int folder, int64_t bytes)
{
	static const char name[] = "space";
	struct statvfs disk;
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	unlinkat(folder, name, 0); /* nothing of it is left if this process is killed */
	bool reserved = fd >= 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) == 0;
	int why = errno;
	if (fd >= 0)
		close(fd);
	if (!reserved && why == EOPNOTSUPP && fstatvfs(folder, &disk) == 0) {
		reserved = disk.f_bavail >= (uint64_t)bytes / disk.f_frsize;
		why = ENOSPC;
	}
	errno = why;
	return reserved;
}

bool dmtcp_space_suffices(int images, int64_t bytes, struct err *e)
{
	return reserve(images, bytes) ||
	       err_sys(e, "the images of the program may have %lld MiB", (long long)(bytes / 1048576 + 1));
}
