/* grow.h - arrays that grow. */
#ifndef ROTA_HISTORY_GROW_H
#define ROTA_HISTORY_GROW_H

#include <stdlib.h>

/* `array`, reallocated if need be, with capacity for `count` + 1 elements; *room is its capacity in elements. */
static inline void *grow(void *array, int count, int *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room * 2 + 4;
	array = realloc(array, (size_t)*room * size);
	if (!array)
		abort();
	return array;
}

#endif
