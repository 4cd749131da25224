/* journal_common.c - the position up to which a journal is checked, in memory that all its writers share.
 *
 * The launcher and all keepers that it forks append to one file. So a writer need not read records again that another process
 * wrote or checked.
 * Called by: journal.c, under the lock.
 * Invariants:
 * - A position is stored only when every record before it is whole. A writer that dies earlier leaves the previous position.
 * - The position is valid only for the file for which it was stored: same device, inode and base. The base is compared too,
 *   because a new file may get the inode number of a deleted one that no process has open. */
#include "lib/journal_inside.h"

#include <sys/mman.h>

struct journal_common {
	int64_t checked; /* every record before this position is whole */
	int64_t base;	 /* base of the journal file for which `checked` counts */
	dev_t device;
	ino_t inode;
};

struct journal_common *journal_common_new(void)
{
	void *shared = mmap(NULL, sizeof(struct journal_common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("out of memory");
	return shared;
}

void journal_common_free(struct journal_common *c)
{
	if (c)
		munmap(c, sizeof *c);
}

static bool common_is_of(const struct journal_common *c, const struct journal *j)
{
	return c->inode == j->inode && c->device == j->device && c->base == j->base;
}

void journal_common_read(struct journal *j)
{
	int64_t checked = __atomic_load_n(&j->common->checked, __ATOMIC_SEQ_CST);
	if (common_is_of(j->common, j) && checked > j->checked && journal_offset(j, checked) <= j->size)
		j->checked = checked;
}

/* The writer may be killed between any two stores, so `checked` is 0 while the other members change. */
void journal_common_write(struct journal *j)
{
	struct journal_common *c = j->common;
	if (!common_is_of(c, j)) {
		__atomic_store_n(&c->checked, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->base, j->base, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->device, j->device, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->inode, j->inode, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&c->checked, j->checked, __ATOMIC_SEQ_CST);
}
