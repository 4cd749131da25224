/* nearest.h - which known word a misspelt one was probably meant to be: for the hints of errors. */
#ifndef ROTA_NEAREST_H
#define ROTA_NEAREST_H

/* A search: try each known word, then read `best`, the first of the nearest (NULL = none is near). */
struct nearest {
	const char *word;
	const char *best;
	int distance; /* what is as far away as this, or further, is not near */
};
#define NEAREST(word)                                                                                                            \
	{                                                                                                                        \
		(word), NULL, nearest_reach(word) + 1                                                                            \
	}

/* How many letters may be wrong in a word of this length. */
int nearest_reach(const char *word);
void nearest_try(struct nearest *nearest, const char *known);

/* The nearest of a list that ends with NULL, NULL where none is near. */
const char *nearest_of(const char *word, const char *const *known);

#endif
