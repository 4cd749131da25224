/* lease.h - the lease of a node, in the file `lease` of its folder: until when it may run attempts that another node may run
 * after it. */
#ifndef ROTA_PROCMGR_LEASE_H
#define ROTA_PROCMGR_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* In microseconds of CLOCK_BOOTTIME, as clock_boot_us(). */
struct lease {
	int64_t since;	 /* it has been valid without a gap since */
	int64_t until;	 /* its end: the node then ends attempts with that node-loss policy */
	int64_t dead_by; /* the end of the margin: nothing of them is left */
};

enum { LEASE_BOOT_SIZE = 64 };

/* The kernel's boot id, "" where it cannot be read. */
void lease_boot_id(char id[LEASE_BOOT_SIZE]);

/* Make the file, so that `uid` can write to it; an existing one stays. */
bool lease_make(uid_t uid, gid_t gid, struct err *e);

/* Write it. A reader sees the old lease or the new one, or learns that there is none at that moment. */
bool lease_write(const struct lease *lease, struct err *e);

/* Read it; false where there is none, where it is of another boot, or where it is being written. */
bool lease_read(struct lease *lease);

/* Extend `before` (NULL: there is none) by a lease of lease_s seconds, for which the request was sent at `sent`. */
struct lease lease_extended(const struct lease *before, int64_t sent, int lease_s, int margin_s);

/* At three quarters of the margin a keeper kills what SIGTERM has not ended. At seven eighths the launcher kills what no
 * keeper has. The rest is for dying processes, and for clocks that differ. */
int64_t lease_kill_at(const struct lease *lease);
int64_t lease_sweep_at(const struct lease *lease);

#endif
