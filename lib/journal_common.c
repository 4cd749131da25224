/* journal_common.c - how far a journal is known to be whole, in memory that its writers share.
 *
 * Called by journal.c, with the lock held. The launcher and all keepers that it forks append to one file; what one of them has written
 * whole, or looked at, the others need not read. What always holds: a position is stored when every record before it is whole, so who dies
 * before that leaves an earlier one, from which the next one looks; it counts for the very file that it was stored for. */
#include "lib/journal_inside.h"

#include <sys/mman.h>

struct journal_common {
	int64_t checked; /* as in struct journal */
	dev_t device;	 /* of the file that this is about */
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

void journal_common_read(struct journal *j)
{
	const struct journal_common *c = j->common;
	int64_t checked = __atomic_load_n(&c->checked, __ATOMIC_SEQ_CST);
	if (c->inode == j->inode && c->device == j->device && checked > j->checked)
		j->checked = checked;
}

/* Its writer may be killed at any moment. */
void journal_common_write(struct journal *j)
{
	struct journal_common *c = j->common;
	if (c->inode != j->inode || c->device != j->device) {
		__atomic_store_n(&c->checked, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->device, j->device, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->inode, j->inode, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&c->checked, j->checked, __ATOMIC_SEQ_CST);
}
