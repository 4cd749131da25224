/* table.c - a table of lines and how often each was seen. The slots are a power of two, never more than three quarters full,
 * so a search always ends at an empty slot. */
#include "table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
	struct entry *slots;
	size_t slot_count, used;
};

static void *must(void *memory)
{
	if (memory == NULL) {
		fputs("tally: out of memory\n", stderr);
		exit(2);
	}
	return memory;
}

/* FNV-1a. */
static uint64_t hash(const char *line, size_t length)
{
	uint64_t h = 14695981039346656037U;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)line[i]) * 1099511628211U;
	return h;
}

struct table *table_new(void)
{
	struct table *t = must(calloc(1, sizeof(*t)));

	t->slot_count = 64;
	t->slots = must(calloc(t->slot_count, sizeof(*t->slots)));
	return t;
}

void table_free(struct table *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->slot_count; i++)
		free(t->slots[i].line);
	free(t->slots);
	free(t);
}

/* The slot that holds the line, or the empty one where it belongs. */
static struct entry *find(const struct table *t, const char *line, size_t length)
{
	size_t i = hash(line, length) & (t->slot_count - 1);

	while (t->slots[i].line != NULL && (t->slots[i].length != length || memcmp(t->slots[i].line, line, length) != 0))
		i = (i + 1) & (t->slot_count - 1);
	return &t->slots[i];
}

static void grow(struct table *t)
{
	struct entry *old = t->slots;
	size_t old_count = t->slot_count;

	t->slot_count *= 2;
	t->slots = must(calloc(t->slot_count, sizeof(*t->slots)));
	for (size_t i = 0; i < old_count; i++)
		if (old[i].line != NULL)
			*find(t, old[i].line, old[i].length) = old[i];
	free(old);
}

void table_add(struct table *t, const char *line, size_t length)
{
	struct entry *e = find(t, line, length);

	if (e->line == NULL) {
		e->line = must(malloc(length + 1));
		memcpy(e->line, line, length);
		e->line[length] = '\0';
		e->length = length;
		t->used++;
	}
	e->count++;
	if (t->used * 4 > t->slot_count * 3)
		grow(t);
}

size_t table_size(const struct table *t)
{
	return t->used;
}

static int by_line(const struct entry *a, const struct entry *b)
{
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order = memcmp(a->line, b->line, shorter);

	return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int most_first(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return a->count != b->count ? (a->count < b->count) - (a->count > b->count) : by_line(a, b);
}

static int rarest_first(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return a->count != b->count ? (a->count > b->count) - (a->count < b->count) : by_line(a, b);
}

struct entry *table_sorted(const struct table *t, int rarest)
{
	struct entry *all = must(malloc((t->used + 1) * sizeof(*all)));
	size_t n = 0;

	for (size_t i = 0; i < t->slot_count; i++)
		if (t->slots[i].line != NULL)
			all[n++] = t->slots[i];
	qsort(all, n, sizeof(*all), rarest ? rarest_first : most_first);
	return all;
}
