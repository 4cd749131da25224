/* keeper_lease.c - ends a step with the node's lease, if its node-loss policy says so (`fence` in the launch request).
 *
 * Called by: keeper.c at the start and end of an attempt, keeper_control.c from the loop.
 * Invariants:
 * - No step starts without a lease.
 * - With that policy, a step gets SIGTERM when the lease has run out by this node's clock. SIGKILL follows early enough for all
 *   processes to be dead at the end of the margin. No process of the user is started after the lease. No daemon is needed.
 * - The attempt's pid file shows the launcher that the attempt may still have to end with the lease. */
#include <signal.h>
#include <stdio.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"
#include "procmgr/record/lease.h"

struct keeper_lease {
	struct lease last; /* the node's lease as last read */
	int64_t at;	   /* when to read the node's lease again; 0 means never */
};

int64_t keeper_lease_next(const struct keeper *k)
{
	return k->lease->at;
}

static void end_with_lease(struct keeper *k)
{
	int64_t kill_at = lease_kill_at(&k->lease->last);
	k->lease->at = 0;
	k->lease_lost = true;
	if (!*k->cause)
		snprintf(k->message, sizeof k->message, "the node's lease has run out");
	log_warning("attempt %s is ended: the node's lease has run out", k->name);
	keeper_ending_ask(k, "node_lost", 0);
	if (k->phase == KEEPER_DONE && k->hook && k->hook->users)
		keeper_sweep_signal(k, SIGTERM);
	keeper_ending_kill_by(k, kill_at);
}

void keeper_lease_poll(struct keeper *k)
{
	struct lease lease;
	int64_t now = clock_boot_us();
	if (k->lease->at == 0 || now < k->lease->at)
		return;
	/* A lease that began after the end of the lease that was last read comes too late for this attempt. */
	if (!lease_read(&lease) || lease.since > k->lease->last.until || now >= lease.until) {
		end_with_lease(k);
		return;
	}
	k->lease->last = lease;
	k->lease->at = lease.until;
}

void keeper_lease_begin(struct keeper *k)
{
	k->lease = xcalloc(1, sizeof *k->lease);
	if (!lease_read(&k->lease->last) || clock_boot_us() >= k->lease->last.until)
		end_with_lease(k);
	else if (k->order->spec.fence)
		k->lease->at = k->lease->last.until;
}

bool keeper_lease_note(const struct keeper *k, bool ends_with_lease, struct err *e)
{
	char note[RECORD_KEY_SIZE + 48];
	snprintf(note, sizeof note, "%s %s %lld %ld", k->name, ends_with_lease ? "fence" : "-",
		 (long long)keeper_record_space(k->order), (long)k->order->uid);
	return daemon_note(note, e);
}

void keeper_lease_release(struct keeper *k)
{
	struct err e;
	k->lease->at = 0;
	if (k->order->spec.fence && !keeper_lease_note(k, false, &e))
		log_warning("attempt %s: could not note that its epilog may outlive the node's lease: %s", k->name, e.message);
}
