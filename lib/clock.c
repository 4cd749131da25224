/* clock.c - reads clocks that are never set. They measure durations, not the time of day. */
#include "lib/clock.h"

#include <time.h>

static struct timespec clock_read(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now;
}

int64_t clock_boot_us(void)
{
	struct timespec now = clock_read(CLOCK_BOOTTIME);

	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_boot_ns(void)
{
	struct timespec now = clock_read(CLOCK_BOOTTIME);

	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_ms(void)
{
	struct timespec now = clock_read(CLOCK_MONOTONIC);

	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

double clock_seconds(void)
{
	struct timespec now = clock_read(CLOCK_MONOTONIC);

	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
