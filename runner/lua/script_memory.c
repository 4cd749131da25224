/* script_memory.c - the allocator of a Lua state (script_memory.h).
 *
 * Called by: Lua, for each allocation; script_serve.c.
 * Invariants:
 * - All blocks of the Lua state are in one list, which is consistent whenever a jump may happen (script_limit.h). */
#include "runner/lua/script_memory.h"

#include <stdlib.h>

#include "runner/lua/script_limit.h"

/* Header before each allocated block. Its size keeps malloc's alignment. */
struct script_block {
	struct script_block *previous, *next;
};

static void block_unlink(struct script_memory *m, const struct script_block *b)
{
	if (b->previous)
		b->previous->next = b->next;
	else
		m->first = b->next;
	if (b->next)
		b->next->previous = b->previous;
}

/* Link a block into the list: at the head if it is new, else at its old position, since realloc() may have moved it. */
static void block_link(struct script_memory *m, struct script_block *b, bool is_new)
{
	if (is_new) {
		b->previous = NULL;
		b->next = m->first;
	}
	if (b->previous)
		b->previous->next = b;
	else
		m->first = b;
	if (b->next)
		b->next->previous = b;
}

void *script_memory_allocate(void *memory, void *old, size_t old_size, size_t size)
{
	struct script_memory *m = memory;
	struct script_block *before = old ? (struct script_block *)old - 1 : NULL, *b = NULL;
	size_t had = old ? old_size + sizeof *b : 0, wanted = size ? size + sizeof *b : 0; /* without `old`, old_size is a type */

	if (wanted > had && (wanted < size || wanted - had > m->most - m->used)) {
		m->exceeded = true;
		return NULL;
	}
	script_limit_hold();
	if (size) {
		b = realloc(before, wanted);
		if (b)
			block_link(m, b, !before);
	} else if (before) {
		block_unlink(m, before);
		free(before);
	}
	if (b || !size)
		m->used += wanted - had;
	script_limit_release();
	return b ? b + 1 : NULL;
}

void script_memory_drop(struct script_memory *m)
{
	while (m->first) {
		struct script_block *b = m->first;

		m->first = b->next;
		free(b);
	}
	m->used = 0;
	m->exceeded = false;
}
