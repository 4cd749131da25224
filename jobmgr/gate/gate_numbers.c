/* gate_numbers.c - a stock of job numbers, so that frequent submissions need no query for each number.
 *
 * Called by: gate_submit.c.
 * Invariants:
 * - Each number is given away once.
 * - A number is given away within NUMBERS_AGE of its reservation. So numbers rise nearly in the order in which jobs are stored,
 *   and a number seldom lies in a range that has ended meanwhile (internal.numbers_check).
 * - No number is given away after a higher one of a later reservation: internal.submit_fits, which counts a user's live steps,
 *   would miss its job for some seconds.
 * - Numbers that nobody took stay unused. The stock grows from 0 and doubles with each reservation, so that a burst of jobs
 *   leaves about as many numbers unused as it has jobs, and a single job none. */
#include "jobmgr/gate/gate_numbers.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/err.h"

enum { NUMBERS_AGE = 1000 /* milliseconds */ };

struct gate_numbers {
	int64_t numbers[GATE_NUMBERS_MOST];
	size_t next, end; /* the stock is numbers[next] to numbers[end - 1] */
	int64_t until;	  /* time by clock_ms() from which the numbers of the stock are too old to be given away */
	size_t ahead;	  /* number of job numbers that were reserved ahead at the last reservation */
	int64_t asked_at; /* time of the last reservation, by clock_ms() */
	int64_t highest;  /* highest number that was reserved; answers with only lower numbers do not fill the stock */
};

struct gate_numbers *gate_numbers_new(void)
{
	return xcalloc(1, sizeof(struct gate_numbers));
}

void gate_numbers_free(struct gate_numbers *stock)
{
	free(stock);
}

json_t *gate_numbers_take(struct gate_numbers *stock, size_t count)
{
	json_t *taken;

	if (stock->end - stock->next < count || clock_ms() >= stock->until)
		return NULL;
	taken = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(taken, json_integer(stock->numbers[stock->next++]));
	return taken;
}

size_t gate_numbers_ahead(struct gate_numbers *stock)
{
	int64_t now = clock_ms();

	if (!stock->asked_at || now - stock->asked_at >= NUMBERS_AGE)
		stock->ahead = 0;
	else if (stock->ahead < GATE_NUMBERS_MOST)
		stock->ahead = 2 * stock->ahead + 1;
	stock->asked_at = now;
	return stock->ahead;
}

void gate_numbers_put(struct gate_numbers *stock, json_t *numbers, size_t first)
{
	size_t count = json_array_size(numbers);
	int64_t highest = count ? json_integer_value(json_array_get(numbers, count - 1)) : 0;

	if (highest < stock->highest) /* the answers to two reservations may arrive in the other order */
		return;
	stock->highest = highest;
	stock->next = stock->end = 0;
	for (size_t i = first; i < count && stock->end < GATE_NUMBERS_MOST; i++)
		stock->numbers[stock->end++] = json_integer_value(json_array_get(numbers, i));
	stock->until = clock_ms() + NUMBERS_AGE;
}
