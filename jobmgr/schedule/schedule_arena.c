/* schedule_arena.c - memory in growing blocks, filled from the front and freed together.
 *
 * Called by: all of the scheduler and the leader.
 * Invariants:
 *  - No block is freed alone, so no function of the scheduler has to free memory before it returns. */
#include "jobmgr/schedule/schedule_arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

struct block {
	struct block *next;
	size_t size, used;
	_Alignas(max_align_t) char bytes[];
};

struct schedule_arena {
	struct block *block;
	size_t next_size;
};

struct schedule_arena *schedule_arena_new(void)
{
	struct schedule_arena *arena = xcalloc(1, sizeof *arena);
	arena->next_size = 16384;
	return arena;
}

void schedule_arena_free(struct schedule_arena *arena)
{
	if (!arena)
		return;
	for (struct block *block = arena->block, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	free(arena);
}

static void arena_grow(struct schedule_arena *arena, size_t least)
{
	size_t size = arena->next_size > least ? arena->next_size : least;
	struct block *block = xmalloc(sizeof *block + size);
	block->next = arena->block;
	block->size = size;
	block->used = 0;
	arena->block = block;
	if (arena->next_size < (size_t)1 << 22)
		arena->next_size *= 2;
}

void *schedule_arena_take(struct schedule_arena *arena, size_t count, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		die("schedule: out of memory for %zu items of %zu bytes", count, size);
	bytes = (bytes + align - 1) / align * align;
	if (!arena->block || arena->block->size - arena->block->used < bytes)
		arena_grow(arena, bytes);
	void *taken = arena->block->bytes + arena->block->used;
	arena->block->used += bytes;
	return memset(taken, 0, bytes);
}

const char *schedule_arena_print(struct schedule_arena *arena, const char *format, ...)
{
	char buffer[256];
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	int length = vsnprintf(buffer, sizeof buffer, format, arguments);
	if (length < 0)
		die("schedule: could not format a message");
	char *text = schedule_arena_take(arena, (size_t)length + 1, 1);
	if ((size_t)length < sizeof buffer)
		memcpy(text, buffer, (size_t)length + 1);
	else
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	va_end(arguments);
	return text;
}
