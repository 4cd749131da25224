/* nearest.h - finds the known word that a misspelt word was probably meant to be, for the hints of errors. */
#ifndef ROTA_NEAREST_H
#define ROTA_NEAREST_H

/* A search for the known word nearest to `word`: call nearest_try() for each known word, then read `best`. */
struct nearest {
	const char *word;
	const char *best; /* the nearest known word so far, the first of several; NULL: none is near */
	int distance;	  /* edit distance of `best`; only a known word at a smaller distance from `word` replaces it */
};
#define NEAREST(word)                                                                                                            \
	{                                                                                                                        \
		(word), NULL, nearest_reach(word) + 1                                                                            \
	}

/* Returns how many letters of `word` may be wrong: the more, the longer the word is. */
int nearest_reach(const char *word);
void nearest_try(struct nearest *nearest, const char *known);

/* Returns the word in the NULL-terminated list `known` that is nearest to `word`, or NULL if none is near. */
const char *nearest_of(const char *word, const char *const *known);

#endif
