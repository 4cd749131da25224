/* agent_clock.h - estimates the time of the database at which this node's clock (clock_boot_us) was 0. */
#ifndef ROTA_PROCMGR_AGENT_CLOCK_H
#define ROTA_PROCMGR_AGENT_CLOCK_H

#include <stdint.h>

struct agent_clock {
	int64_t boot_us; /* the estimate, in microseconds since 1970 by the clock of the database; 0 before the first answer */
};

/* Compare the estimate with an answer of the database. The call was sent at `sent` and answered at `received` (clock_boot_us);
 * `server_us` is the time of the database in between, in microseconds since 1970. */
void agent_clock_compare(struct agent_clock *c, int64_t sent, int64_t received, int64_t server_us);

#endif
