/* keeper_ending.c - ends a step before its tasks end by themselves.
 *
 * Called by: keeper_control.c, keeper_lease.c and keeper_memory.c, each with a cause of its own.
 * Invariants:
 * - The first cause is the step's cause. A request that comes after the tasks have ended, also those that the
 *   keeper waits for on other nodes (keeper_checkpoint.c), sets no cause.
 * - Of several requests, the one whose grace time ends first has the tasks killed.
 * - SIGTERM, the grace time and SIGKILL follow each other without another message.
 * - A suspended step is resumed, since a stopped process does not handle SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"
#include "procmgr/keeper/keeper_parts.h"

enum { AGAIN_USEC = 1000000 };

bool keeper_ending_is_running(const struct keeper *k)
{
	return k->live > 0 || k->lingers;
}

bool keeper_ending_is_busy(const struct keeper *k)
{
	return keeper_ending_is_running(k) ||
	       (k->hook && k->hook->users &&
		(k->phase < KEEPER_DONE || k->lease_lost || k->stage_out == KEEPER_STAGE_OUT_ENDING));
}

void keeper_ending_request(struct keeper *k, enum keeper_request request)
{
	if (request > k->request)
		k->request = request;
}

void keeper_ending_kill_by(struct keeper *k, int64_t at)
{
	if (k->kill_at == 0 || k->kill_at > at)
		k->kill_at = at;
}

/* End the stage-out transfers, which follow the tasks, or prevent them if they have not begun. */
static void cancel_stage_out(struct keeper *k)
{
	if (k->stage_out == KEEPER_STAGE_OUT_NONE)
		k->stage_out = KEEPER_STAGE_OUT_UNWANTED;
	if (k->stage_out != KEEPER_STAGE_OUT_RUNS)
		return;
	k->stage_out = KEEPER_STAGE_OUT_ENDING;
	keeper_sweep_signal(k, SIGTERM);
	k->kill_at = clock_boot_us() + (int64_t)k->order->grace_s * 1000000;
}

void keeper_ending_ask(struct keeper *k, const char *cause, int64_t grace_s)
{
	keeper_ending_request(k, KEEPER_REQUEST_END);
	if (k->phase == KEEPER_DONE && (!*cause || strcmp(cause, "cancelled") == 0))
		cancel_stage_out(k);
	int64_t kill_at = clock_boot_us() + (grace_s > 0 ? grace_s : k->order->grace_s) * 1000000;
	/* With the end of a step on one node, the others are asked again, for the same cause. What that node got then holds for them too. */
	bool repeated = grace_s == 0 && strcmp(cause, k->cause) == 0;
	if (*k->cause && !repeated && keeper_ending_is_running(k))
		keeper_ending_kill_by(k, kill_at);
	if (*k->cause || k->phase == KEEPER_DONE)
		return;
	snprintf(k->cause, sizeof k->cause, "%s", *cause ? cause : "cancelled");
	keeper_manager_end(k);
	if (keeper_ending_is_busy(k))
		keeper_sweep_signal(k, SIGTERM);
	if (k->suspended)
		keeper_sweep_freeze(k, false);
	if (keeper_ending_is_busy(k))
		keeper_sweep_signal(k, SIGCONT);
	k->kill_at = kill_at;
}

void keeper_ending_kill(struct keeper *k, const char *cause)
{
	keeper_ending_request(k, KEEPER_REQUEST_END);
	if (!*k->cause)
		snprintf(k->cause, sizeof k->cause, "%s", cause);
	keeper_manager_end(k);
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
