/* lead_array.c - the indices of an array as ranges, each with the number of indices before it.
 *
 * Called by: lead_order.c, for each element that starts.
 * Invariants:
 *  - No range is empty, so the numbers of indices before them ascend, and a binary search finds the range of a position. An array
 *    may have ten thousand ranges. */
#include "jobmgr/lead/lead_array.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/err.h"

struct range {
	int64_t low, step, before;
};

struct lead_array {
	struct range *ranges;
	size_t count;
	int64_t size;
};

static void array_add(struct lead_array *array, int64_t low, int64_t high, int64_t step)
{
	if (step <= 0 || high < low)
		return;
	array->ranges[array->count++] = (struct range){low, step, array->size};
	array->size += (high - low) / step + 1;
}

struct lead_array *lead_array_new(const char *indices)
{
	struct lead_array *array = xcalloc(1, sizeof *array);
	json_t *list = json_loads(indices, 0, NULL), *range;
	size_t i;

	array->ranges = xcalloc(json_array_size(list) + 1, sizeof *array->ranges);
	json_array_foreach (list, i, range)
		array_add(array, json_integer_value(json_array_get(range, 0)), json_integer_value(json_array_get(range, 1)),
			  json_integer_value(json_array_get(range, 2)));
	json_decref(list);
	return array;
}

void lead_array_free(struct lead_array *array)
{
	if (!array)
		return;
	free(array->ranges);
	free(array);
}

bool lead_array_index(const struct lead_array *array, int position, int *index)
{
	size_t first = 0, end = array->count;

	if (position < 0 || position >= array->size)
		return false;
	while (end - first > 1) {
		size_t middle = first + (end - first) / 2;

		if (array->ranges[middle].before <= position)
			first = middle;
		else
			end = middle;
	}
	const struct range *range = &array->ranges[first];

	*index = (int)(range->low + (position - range->before) * range->step);
	return true;
}
