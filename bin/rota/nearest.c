/* nearest.c - which word was meant: for misspelt verbs, options, fields and signals. Called wherever a word is looked up. */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "bin/rota/verb.h"

/* How many single letters must be changed, added, dropped or swapped to make one word of the other. */
static int distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	int d[34][34];

	if (la > 32 || lb > 32)
		return INT_MAX;
	for (size_t i = 0; i <= la; i++)
		d[i][0] = (int)i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = (int)j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
			best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[la][lb];
}

const char *verb_nearest(const char *word, const char *const *words)
{
	const char *best = NULL;
	int nearest = (int)strlen(word) / 3 + 1;

	for (; *words; words++) {
		int d = distance(word, *words);

		/* A beginning of the word counts as near, however much is missing. */
		if (d > 1 && strlen(word) > 1 && !strncmp(*words, word, strlen(word)))
			d = 1;
		if (d > nearest || (best && d == nearest))
			continue;
		nearest = d;
		best = *words;
	}
	return best;
}
