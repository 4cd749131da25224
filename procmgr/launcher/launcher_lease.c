/* launcher_lease.c - kills keepers that have not ended their attempts with the node's lease, if their node-loss policy says so
 * (`fence` in the launch request).
 *
 * Called by: launcher.c from its loop.
 * Invariants: when seven eighths of the margin after the lease are over, a keeper whose pid file says that its attempt must not
 * outlive the lease hangs or is late, and is killed. Its attempt is then recovered like that of any dead keeper. */
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"
#include "procmgr/record/lease.h"

enum { AGAIN_USEC = 500000 };

struct launcher_lease {
	struct lease last; /* the node's lease as last read; all 0 before the first lease of this boot */
	int64_t at;	   /* when to read the node's lease again */
};

struct launcher_lease *launcher_lease_new(void)
{
	return xcalloc(1, sizeof(struct launcher_lease));
}

int64_t launcher_lease_next(const struct launcher *l)
{
	return l->lease->at;
}

/* Kill the keeper that holds the lock of the attempt's pid file. Once the keeper has ended, its pid may be that of another
 * process, but not while it holds the lock. Returns false if there is no keeper. */
static bool kill_keeper(const struct record_key *key)
{
	pid_t keeper = launcher_spool_keeper(key);
	int fd = keeper > 0 ? pidfd_open(keeper, 0) : -1;
	bool killed = fd >= 0 && launcher_spool_keeper(key) == keeper && pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0;
	if (fd >= 0)
		close(fd);
	return killed;
}

static void kill_overdue(struct launcher *l, const struct record_key *key)
{
	char name[RECORD_KEY_SIZE];
	if (!launcher_spool_ends_with_lease(key))
		return;
	record_key_text(key, name);
	if (kill_keeper(key))
		log_error("the keeper of attempt %s is killed: it has not ended the attempt with the node's lease", name);
	/* The attempt of a child is recovered when the launcher reaps the killed keeper. */
	if (!launcher_child_has(l, key))
		launcher_lost_recover(l, key);
}

void launcher_lease_poll(struct launcher *l)
{
	struct lease lease;
	int64_t now = clock_boot_us();
	if (now < l->lease->at)
		return;
	if (lease_read(&lease))
		l->lease->last = lease;
	int64_t sweep_at = lease_sweep_at(&l->lease->last);
	l->lease->at = sweep_at > now ? sweep_at : now + AGAIN_USEC;
	if (l->lease->last.until > 0 && sweep_at <= now)
		launcher_spool_each(l, kill_overdue);
}
