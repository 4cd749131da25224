/* agent_keep.c - keeps journal records for a while after the database has acknowledged them. A server that is promoted or
 * restored may lack its last commits; then procmgrd starts again and reports the kept records once more.
 *
 * Called by: agent_report.c.
 * Invariants:
 * - An acknowledged record is kept for KEEP_US, unless the journal has more than `most` bytes of such records. It is dropped at
 *   the latest with the first truncation after twice that time. */
#include "procmgr/agent/agent_keep.h"

static const int64_t KEEP_US = 60 * INT64_C(1000000), KEEP_MOST = 2 * 1024 * 1024;

enum { SHARE = 8 }; /* the kept records take at most 1/SHARE of the largest size of the journal */

struct agent_keep agent_keep_in(int64_t journal_mb)
{
	int64_t share = journal_mb * 1024 * 1024 / SHARE;
	return (struct agent_keep){.most = share < KEEP_MOST ? share : KEEP_MOST};
}

int64_t agent_keep_until(struct agent_keep *k, int64_t acked, int64_t now)
{
	if (k->since == 0 || now - k->since >= KEEP_US) {
		k->drop_to = k->since ? k->marked : k->drop_to;
		k->marked = acked;
		k->since = now;
	}
	if (acked - k->drop_to > k->most)
		k->drop_to = k->marked = acked;
	return k->drop_to;
}
