/* schedule_bits.h - sets of node indices as 64-bit words. Each set has as many words as the member `words` of struct
 * schedule_cluster says. */
#ifndef ROTA_SCHEDULE_BITS_H
#define ROTA_SCHEDULE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void schedule_bits_add(uint64_t *set, size_t bit)
{
	set[bit / 64] |= (uint64_t)1 << bit % 64;
}

static inline void schedule_bits_drop(uint64_t *set, size_t bit)
{
	set[bit / 64] &= ~((uint64_t)1 << bit % 64);
}

static inline bool schedule_bits_has(const uint64_t *set, size_t bit)
{
	return set[bit / 64] >> bit % 64 & 1;
}

static inline size_t schedule_bits_count(const uint64_t *set, size_t words)
{
	size_t count = 0;
	for (size_t w = 0; w < words; w++)
		count += (size_t)__builtin_popcountll(set[w]);
	return count;
}

/* Remove the lowest bit of a word that is not 0, and return its number. */
static inline size_t schedule_bits_pop(uint64_t *word)
{
	size_t bit = (size_t)__builtin_ctzll(*word);
	*word &= *word - 1;
	return bit;
}

#endif
