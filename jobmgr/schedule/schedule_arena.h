/* schedule_arena.h - memory that is freed as a whole, with the result of the scheduler or the rows of a cycle. */
#ifndef ROTA_SCHEDULE_ARENA_H
#define ROTA_SCHEDULE_ARENA_H

#include <stddef.h>

struct schedule_arena;

struct schedule_arena *schedule_arena_new(void);
void schedule_arena_free(struct schedule_arena *arena);

/* Returns zeroed memory of the arena, aligned for any type. It is never NULL. */
void *schedule_arena_take(struct schedule_arena *arena, size_t count, size_t size);

const char *schedule_arena_print(struct schedule_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
