/* lead_array.h - the indices of an array, parsed once for all of its elements that start in a cycle. */
#ifndef ROTA_LEAD_ARRAY_H
#define ROTA_LEAD_ARRAY_H

#include <stdbool.h>

struct lead_array;

/* Parse the array indices [[low, high, step], ...]. A malformed text gives an array without indices. */
struct lead_array *lead_array_new(const char *indices);
void lead_array_free(struct lead_array *array);

/* Set *index to the array index at a position of the array. Returns false if the array has no such position. */
bool lead_array_index(const struct lead_array *array, int position, int *index);

#endif
