/* clock.h - the clocks that nobody sets. */
#ifndef ROTA_CLOCK_H
#define ROTA_CLOCK_H

#include <stdint.h>

/* Microseconds since the machine started, those in which it slept among them (CLOCK_BOOTTIME). */
int64_t clock_boot_us(void);

/* Milliseconds, and seconds, of the monotonic clock, which stands still while the machine sleeps. */
int64_t clock_ms(void);
double clock_seconds(void);

#endif
