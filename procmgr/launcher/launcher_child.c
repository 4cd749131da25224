/* launcher_child.c - the table of keepers that this launcher has forked and that have an attempt.
 *
 * Called by: launcher_order.c for each start and end, launcher_idle.c when a keeper becomes idle.
 * Invariants:
 * - Every keeper in the table is a child of this process that has not been reaped.
 * - The launcher's sums (journal space, CPUs, keepers that may become idle) are those of the table. */
#include "procmgr/launcher/launcher_parts.h"

void launcher_child_add(struct launcher *l, const struct launcher_child *child)
{
	if (l->child_count == l->child_capacity) {
		l->child_capacity = l->child_capacity ? 2 * l->child_capacity : 64;
		l->children = xrealloc(l->children, (unsigned long)l->child_capacity * sizeof *l->children);
	}
	l->children[l->child_count++] = *child;
	l->space += child->space;
	l->cpus += child->cpus;
	l->reusable_count += child->ctl >= 0;
}

bool launcher_child_has(const struct launcher *l, const struct record_key *key)
{
	for (int i = 0; i < l->child_count; i++)
		if (record_key_equal(&l->children[i].key, key))
			return true;
	return false;
}

bool launcher_child_is_keeper(const struct launcher *l, pid_t pid)
{
	for (int i = 0; i < l->child_count; i++)
		if (l->children[i].pid == pid)
			return true;
	return false;
}

bool launcher_child_remove(struct launcher *l, pid_t pid, const struct record_key *key, struct launcher_child *child)
{
	for (int i = 0; i < l->child_count; i++) {
		if (l->children[i].pid != pid || (key && !record_key_equal(&l->children[i].key, key)))
			continue;
		*child = l->children[i];
		l->space -= child->space;
		l->cpus -= child->cpus;
		l->reusable_count -= child->ctl >= 0;
		l->children[i] = l->children[--l->child_count];
		return true;
	}
	return false;
}
