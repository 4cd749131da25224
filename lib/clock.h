/* clock.h - reads clocks that are never set: time since boot, and monotonic time. */
#ifndef ROTA_CLOCK_H
#define ROTA_CLOCK_H

#include <stdint.h>

/* Microseconds since the machine started, including the time for which it was suspended (CLOCK_BOOTTIME). */
int64_t clock_boot_us(void);
int64_t clock_boot_ns(void); /* nanoseconds since the machine started, as clock_boot_us() */

/* Milliseconds, or seconds, of CLOCK_MONOTONIC, which stands still while the machine is suspended. */
int64_t clock_ms(void);
double clock_seconds(void);

#endif
