/* due.c - a binary heap of future events. */
#include "due.h"

#include <stdbool.h>

#include "grow.h"

static bool earlier(const struct due *a, const struct due *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void due_add(struct due_list *l, int64_t at, enum what what, struct job *j, int number)
{
	struct due one = {at, l->order++, what, j, number};
	int i = l->count;

	l->heap = grow(l->heap, l->count, &l->room, sizeof *l->heap);
	l->count++;
	for (; i > 0 && earlier(&one, &l->heap[(i - 1) / 2]); i = (i - 1) / 2)
		l->heap[i] = l->heap[(i - 1) / 2];
	l->heap[i] = one;
	if (j)
		j->pending++;
}

struct due due_take(struct due_list *l)
{
	struct due first = l->heap[0], last = l->heap[--l->count];
	int i = 0, child;

	while ((child = 2 * i + 1) < l->count) {
		if (child + 1 < l->count && earlier(&l->heap[child + 1], &l->heap[child]))
			child++;
		if (!earlier(&l->heap[child], &last))
			break;
		l->heap[i] = l->heap[child];
		i = child;
	}
	l->heap[i] = last;
	return first;
}
