/* agent_lease.h - the node's lease, as procmgrd keeps it. */
#ifndef ROTA_PROCMGR_AGENT_LEASE_H
#define ROTA_PROCMGR_AGENT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf.h"

struct agent_lease;

/* The new object has the lease that an earlier procmgrd wrote to the lease file. */
struct agent_lease *agent_lease_new(const struct conf *conf);
void agent_lease_free(struct agent_lease *l);
bool agent_lease_is_valid(const struct agent_lease *l);

/* Store the lease that the database granted for a request sent at `sent` (clock_boot_us). */
void agent_lease_grant(struct agent_lease *l, int64_t sent);

#endif
