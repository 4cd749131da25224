/* agent_clock.c - estimates the time of the database at which this node's clock was 0.
 *
 * Called by: agent.c for each answer about the lease, agent_report.c for each answer to a report.
 * Invariants:
 * - From each answer follow an earliest and a latest possible value. The estimate changes only if it is not between the two: if
 *   the first answers were slow, if one of the clocks drifts, or if the clock of the database was set.
 * - The estimate is wrong by no more than the duration of the fastest call. A slow call or a stopped process does not change it. */
#include "procmgr/agent/agent_clock.h"

void agent_clock_compare(struct agent_clock *c, int64_t sent, int64_t received, int64_t server_us)
{
	int64_t earliest = server_us - received, latest = server_us - sent;
	if (c->boot_us < earliest || c->boot_us > latest)
		c->boot_us = earliest;
}
