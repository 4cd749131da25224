/* agent_keep.h - until when acknowledged journal records are kept. */
#ifndef ROTA_PROCMGR_AGENT_KEEP_H
#define ROTA_PROCMGR_AGENT_KEEP_H

#include <stdint.h>

struct agent_keep {
	int64_t most;	       /* bytes of acknowledged records that are kept at most */
	int64_t drop_to;       /* every earlier journal record may be dropped */
	int64_t marked, since; /* a position that was acknowledged at the time `since` (clock_boot_us), and is dropped next */
};

/* Make the object for a journal of at most `journal_mb` MiB, which bounds the acknowledged records that are kept. */
struct agent_keep agent_keep_in(int64_t journal_mb);

/* Every journal record before `acked` is acknowledged at the time `now`. Returns the position up to which the journal may be truncated. */
int64_t agent_keep_until(struct agent_keep *k, int64_t acked, int64_t now);

#endif
