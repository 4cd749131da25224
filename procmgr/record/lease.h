/* lease.h - until when a node may run what runs again elsewhere once the node is lost: the file `lease` in the node's folder. */
#ifndef ROTA_PROCMGR_LEASE_H
#define ROTA_PROCMGR_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* All three in microseconds of CLOCK_BOOTTIME, as clock_boot_us(). */
struct lease {
	int64_t since;	 /* from when on it never ran out */
	int64_t until;	 /* its end; from then on the node ends what is fenced */
	int64_t dead_by; /* the margin's end: by then nothing of that may be left */
};

enum { LEASE_BOOT_SIZE = 64 };

/* The kernel's boot id, "" where it cannot be read. */
void lease_boot_id(char id[LEASE_BOOT_SIZE]);

/* Make the file, for `uid` to write to; one that is there stays. */
bool lease_make(uid_t uid, gid_t gid, struct err *e);

/* Write it; a reader sees the old one or the new one, or is told that there is none just now. */
bool lease_write(const struct lease *lease, struct err *e);

/* Read it; false where there is none, none of this boot, or one that is just being written. */
bool lease_read(struct lease *lease);

/* The lease that a request sent at `sent` and granted for so long makes of the one before (NULL: none). */
struct lease lease_extended(const struct lease *before, int64_t sent, int lease_s, int margin_s);

/* At three quarters of the margin the keeper kills what SIGTERM has not ended; at seven eighths the launcher kills what no keeper
 * has. The rest is for what is dying, and for clocks that do not run alike. */
int64_t lease_kill_at(const struct lease *lease);
int64_t lease_sweep_at(const struct lease *lease);

#endif
