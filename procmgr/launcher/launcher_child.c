/* launcher_child.c - the table of keepers that this launcher has forked and that have an attempt.
 *
 * Called by: launcher_order.c for each start and end, launcher_idle.c when a keeper becomes idle.
 * Invariants:
 * - Every keeper in the table is a child of this process that has not been reaped.
 * - The launcher's sums (journal space, CPUs, keepers that may become idle) are those of the table. */
#include <stdlib.h>

#include "procmgr/launcher/launcher_parts.h"

struct launcher_children {
	struct launcher_child *rows;
	int count, capacity;
	int reusable;  /* keepers that may become idle */
	int64_t space; /* journal space that is reserved for the records of all rows */
	int cpus;      /* CPUs of the attempts of all rows */
};

struct launcher_children *launcher_child_new(void)
{
	return xcalloc(1, sizeof(struct launcher_children));
}

void launcher_child_free(struct launcher_children *children)
{
	free(children->rows);
	free(children);
}

int launcher_child_count(const struct launcher *l)
{
	return l->children->count;
}

int launcher_child_reusable(const struct launcher *l)
{
	return l->children->reusable;
}

int64_t launcher_child_space(const struct launcher *l)
{
	return l->children->space;
}

int launcher_child_cpus(const struct launcher *l)
{
	return l->children->cpus;
}

void launcher_child_add(struct launcher *l, const struct launcher_child *child)
{
	if (l->children->count == l->children->capacity) {
		l->children->capacity = l->children->capacity ? 2 * l->children->capacity : 64;
		l->children->rows = xrealloc(l->children->rows, (unsigned long)l->children->capacity * sizeof *l->children->rows);
	}
	l->children->rows[l->children->count++] = *child;
	l->children->space += child->space;
	l->children->cpus += child->cpus;
	l->children->reusable += child->ctl >= 0;
}

bool launcher_child_has(const struct launcher *l, const struct record_key *key)
{
	for (int i = 0; i < l->children->count; i++)
		if (record_key_equal(&l->children->rows[i].key, key))
			return true;
	return false;
}

bool launcher_child_is_keeper(const struct launcher *l, pid_t pid)
{
	for (int i = 0; i < l->children->count; i++)
		if (l->children->rows[i].pid == pid)
			return true;
	return false;
}

bool launcher_child_remove(struct launcher *l, pid_t pid, const struct record_key *key, struct launcher_child *child)
{
	for (int i = 0; i < l->children->count; i++) {
		if (l->children->rows[i].pid != pid || (key && !record_key_equal(&l->children->rows[i].key, key)))
			continue;
		*child = l->children->rows[i];
		l->children->space -= child->space;
		l->children->cpus -= child->cpus;
		l->children->reusable -= child->ctl >= 0;
		l->children->rows[i] = l->children->rows[--l->children->count];
		return true;
	}
	return false;
}
