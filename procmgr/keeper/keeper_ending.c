/* keeper_ending.c - ends a step before its tasks end by themselves.
 *
 * Called by: keeper_control.c, keeper_lease.c and keeper_memory.c, each with a cause of its own.
 * Invariants:
 * - The first cause is the step's cause.
 * - SIGTERM, the grace time and SIGKILL follow each other without another message.
 * - A suspended step is resumed, since a stopped process does not handle SIGTERM. */
#include <signal.h>
#include <stdio.h>

#include "lib/clock.h"
#include "procmgr/keeper/keeper_parts.h"

enum { AGAIN_USEC = 1000000 };

bool keeper_ending_is_busy(const struct keeper *k)
{
	return k->live > 0 || (k->hook && k->hook->users && (!k->done || k->lease_lost));
}

void keeper_ending_ask(struct keeper *k, const char *cause)
{
	k->end_asked = true;
	if (*k->cause || k->done)
		return;
	snprintf(k->cause, sizeof k->cause, "%s", *cause ? cause : "cancelled");
	k->limit_at = k->warn_at = 0;
	if (keeper_ending_is_busy(k))
		keeper_sweep_signal(k, SIGTERM);
	if (k->suspended)
		keeper_sweep_freeze(k, false);
	if (keeper_ending_is_busy(k))
		keeper_sweep_signal(k, SIGCONT);
	k->kill_at = clock_boot_us() + (int64_t)k->order->grace_s * 1000000;
}

void keeper_ending_kill(struct keeper *k, const char *cause)
{
	k->end_asked = true;
	k->limit_at = k->warn_at = 0;
	if (!*k->cause)
		snprintf(k->cause, sizeof k->cause, "%s", cause);
	keeper_sweep_kill(k);
	k->kill_at = clock_boot_us() + AGAIN_USEC;
}

void keeper_ending_timer(struct keeper *k, int64_t now)
{
	if (k->kill_at == 0 || now < k->kill_at || !keeper_ending_is_busy(k))
		return;
	keeper_sweep_kill(k);
	k->kill_at = now + AGAIN_USEC;
}
