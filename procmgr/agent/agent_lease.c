/* agent_lease.c - keeps the node's lease and writes it to the file that keepers read.
 *
 * Called by: agent.c at each registration and renewal, agent_order.c before each launch.
 * Invariants: the lease counts from the time when its request was sent, so it ends on the node no later than in the database. */
#include "procmgr/agent/agent_lease.h"

#include <stdlib.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/record/lease.h"

struct agent_lease {
	const struct conf *conf;
	bool granted; /* the database has granted a lease since the node booted */
	struct lease lease;
};

struct agent_lease *agent_lease_new(const struct conf *conf)
{
	struct agent_lease *l = xcalloc(1, sizeof *l);
	l->conf = conf;
	l->granted = lease_read(&l->lease);
	return l;
}

void agent_lease_free(struct agent_lease *l)
{
	free(l);
}

bool agent_lease_is_valid(const struct agent_lease *l)
{
	return l->granted && clock_boot_us() < l->lease.until;
}

void agent_lease_grant(struct agent_lease *l, int64_t sent)
{
	struct err e;
	l->lease = lease_extended(l->granted ? &l->lease : NULL, sent, l->conf->node_lease, l->conf->node_lease_margin);
	l->granted = true;
	if (!lease_write(&l->lease, &e))
		log_error("could not write the node's new lease for the keepers of its attempts: %s", e.message);
}
