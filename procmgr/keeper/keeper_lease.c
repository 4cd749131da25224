/* keeper_lease.c - a step with the policy fence does not outlive its node's lease.
 *
 * Called by the keeper at its start and from its loop. What always holds: nothing of a step begins without a lease; with the policy
 * fence, when the lease has run out by this node's clock, or ran out at any time since (so a keeper that slept through it ends too),
 * SIGTERM is sent, SIGKILL in time for all to be dead when the margin is over, and nothing of the user's is started any more. No
 * daemon is needed for that. The attempt's pid file tells the launcher that there may be something to end. */
#include <signal.h>
#include <stdio.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

static void lost(struct keeper *k)
{
	int64_t kill_at = lease_kill_at(&k->lease);
	k->lease_at = 0;
	k->fenced = true;
	if (!*k->cause)
		snprintf(k->message, sizeof k->message, "the node's lease has run out");
	log_warning("%s: the node's lease has run out", k->name);
	keeper_ending_ask(k, "node_lost");
	if (k->done && k->hook && k->hook->users)
		keeper_sweep_signal(k, SIGTERM);
	if (k->kill_at == 0 || k->kill_at > kill_at)
		k->kill_at = kill_at;
}

void keeper_lease_look(struct keeper *k)
{
	struct lease lease;
	int64_t now = clock_boot_us();
	if (k->lease_at == 0 || now < k->lease_at)
		return;
	/* One that began after the end of the one we knew comes too late. */
	if (!lease_read(&lease) || lease.since > k->lease.until || now >= lease.until) {
		lost(k);
		return;
	}
	k->lease = lease;
	k->lease_at = lease.until;
}

void keeper_lease_begin(struct keeper *k)
{
	if (!lease_read(&k->lease) || clock_boot_us() >= k->lease.until)
		lost(k);
	else if (k->order->spec.fence)
		k->lease_at = k->lease.until;
}

bool keeper_lease_note(const struct keeper *k, bool fence, struct err *e)
{
	char note[RECORD_KEY_SIZE + 32];
	snprintf(note, sizeof note, "%s %s %lld", k->name, fence ? "fence" : "-", (long long)keeper_record_room(k->order));
	return daemon_note(note, e);
}

void keeper_lease_over(struct keeper *k)
{
	struct err e;
	k->lease_at = 0;
	if (k->order->spec.fence && !keeper_lease_note(k, false, &e))
		log_warning("%s: %s", k->name, e.message);
}
