/* journal_common.c - how far a journal is known to be whole, in memory that its writers share.
 *
 * Called by journal.c, with the lock held. The launcher and all keepers that it forks append to one file; what one of them has written
 * whole, or looked at, the others need not read. What always holds: a position is stored when every record before it is whole, so who dies
 * before that leaves an earlier one, from which the next one looks; it counts for the very file that it was stored for. (A file's number
 * is free again once nobody has it open, and the next file may get it; its base it shares with none that begins later.) */
#include "lib/journal_inside.h"

#include <sys/mman.h>

struct journal_common {
	int64_t checked; /* as in struct journal */
	int64_t base;	 /* of the file that this is about */
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

static bool is_of(const struct journal_common *c, const struct journal *j)
{
	return c->inode == j->inode && c->device == j->device && c->base == j->base;
}

void journal_common_read(struct journal *j)
{
	int64_t checked = __atomic_load_n(&j->common->checked, __ATOMIC_SEQ_CST);
	if (is_of(j->common, j) && checked > j->checked && journal_offset(j, checked) <= j->size)
		j->checked = checked;
}

/* Its writer may be killed at any moment. */
void journal_common_write(struct journal *j)
{
	struct journal_common *c = j->common;
	if (!is_of(c, j)) {
		__atomic_store_n(&c->checked, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->base, j->base, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->device, j->device, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->inode, j->inode, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&c->checked, j->checked, __ATOMIC_SEQ_CST);
}
