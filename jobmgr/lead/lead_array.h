/* lead_array.h - the indices of an array, parsed once for all of its elements that start in a cycle. */
#ifndef ROTA_LEAD_ARRAY_H
#define ROTA_LEAD_ARRAY_H

#include <stdbool.h>

struct lead_array;

/* Parse [[low, high, step], ...]. A malformed text has no indices. */
struct lead_array *lead_array_new(const char *indices);
void lead_array_free(struct lead_array *array);

/* The index at a position; false if there is none. */
bool lead_array_index(const struct lead_array *array, int position, int *index);

#endif
