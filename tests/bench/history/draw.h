/* draw.h - reproducible random numbers: a whole history is drawn from one seed. */
#ifndef ROTA_HISTORY_DRAW_H
#define ROTA_HISTORY_DRAW_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct draw {
	uint64_t state;
};

/* splitmix64 */
static inline uint64_t draw_bits(struct draw *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* From 0 (included) to 1 (excluded). */
static inline double draw_part(struct draw *d)
{
	return (double)(draw_bits(d) >> 11) * 0x1p-53;
}

static inline double draw_between(struct draw *d, double low, double high)
{
	return low + (high - low) * draw_part(d);
}

static inline int draw_int(struct draw *d, int low, int high)
{
	return low + (int)(draw_part(d) * (high - low + 1));
}

static inline bool draw_chance(struct draw *d, double chance)
{
	return draw_part(d) < chance;
}

static inline double draw_exponential(struct draw *d, double mean)
{
	return -mean * log(1 - draw_part(d));
}

/* Log-normal; sigma is the standard deviation of the logarithm. */
static inline double draw_skewed(struct draw *d, double median, double sigma)
{
	double one = draw_part(d), two = draw_part(d);

	return median * exp(sigma * sqrt(-2 * log(1 - one)) * cos(2 * M_PI * two));
}

#endif
