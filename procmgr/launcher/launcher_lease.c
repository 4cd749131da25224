/* launcher_lease.c - behind the keepers' backs: an attempt with the policy fence that its keeper has not ended in time.
 *
 * Called from the launcher's loop. What always holds: when seven eighths of the margin behind the node's lease are over, a keeper
 * whose attempt may still have something of the user's (its pid file says so) hangs or is too late, and is killed; what it leaves
 * is then ended like that of any keeper that died. */
#include <signal.h>
#include <stdio.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"

enum { AGAIN_USEC = 500000 };

static void sweep(struct launcher *l, const struct record_key *key)
{
	char name[RECORD_KEY_SIZE];
	pid_t keeper;
	if (!launcher_spool_is_fenced(key))
		return;
	record_key_text(key, name);
	keeper = launcher_spool_keeper(key);
	if (keeper > 0) {
		log_error("the keeper of %s has not ended it with the node's lease, and is killed", name);
		kill(keeper, SIGKILL);
	}
	/* Our own children are reaped; what is left of them is seen to then. */
	if (!launcher_child_has(l, key))
		launcher_lost_recover(l, key);
}

void launcher_lease_turn(struct launcher *l)
{
	struct lease lease;
	int64_t now = clock_boot_us();
	if (now < l->lease_at)
		return;
	if (lease_read(&lease))
		l->lease = lease;
	int64_t sweep_at = lease_sweep_at(&l->lease);
	l->lease_at = sweep_at > now ? sweep_at : now + AGAIN_USEC;
	if (l->lease.until > 0 && sweep_at <= now)
		launcher_spool_each(l, sweep);
}
