/* nearest.c - finds the known word that a misspelt word was probably meant to be. Called wherever a word is looked up and not
 * found. */
#include "lib/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { WORD_LONGEST = 64 };

int nearest_reach(const char *word)
{
	size_t length = strlen(word);
	return length < 2 ? 0 : length < 6 ? 1 : length < 9 ? 2 : 3;
}

static int least_of(int a, int b)
{
	return a < b ? a : b;
}

/* Returns the edit distance with transpositions (optimal string alignment) of two words of at most WORD_LONGEST characters.
 * Returns some number above `enough` if the distance is above `enough`. */
static int distance(const char *a, int m, const char *b, int n, int enough)
{
	int rows[3][WORD_LONGEST + 1];
	for (int j = 0; j <= n; j++)
		rows[0][j] = j;
	for (int i = 1; i <= m; i++) {
		int *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
		int least = row[0] = i;
		for (int j = 1; j <= n; j++) {
			bool same = a[i - 1] == b[j - 1];
			row[j] = least_of(least_of(row[j - 1], above[j]) + 1, above[j - 1] + (same ? 0 : 1));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least_of(row[j], higher[j - 2] + 1);
			least = least_of(least, row[j]);
		}
		if (least > enough) /* the distance can only grow from row to row */
			return least;
	}
	return rows[m % 3][n];
}

void nearest_try(struct nearest *nearest, const char *known)
{
	size_t m = strlen(nearest->word), n = strlen(known);
	if (m > WORD_LONGEST || n > WORD_LONGEST || n == 0)
		return;
	size_t apart = m > n ? m - n : n - m;
	bool begins = m >= 2 && m < n && memcmp(nearest->word, known, m) == 0;
	if (!begins && (int)apart >= nearest->distance)
		return;
	int d = begins ? 1 : distance(nearest->word, (int)m, known, (int)n, nearest->distance);
	if (d < nearest->distance) {
		nearest->distance = d;
		nearest->best = known;
	}
}

const char *nearest_of(const char *word, const char *const *known)
{
	struct nearest nearest = NEAREST(word);

	for (; *known; known++)
		nearest_try(&nearest, *known);
	return nearest.best;
}
