/* lease.h - the lease of a node, in the file `lease` of the node's folder. After its end, another node may run the attempts. */
#ifndef ROTA_PROCMGR_LEASE_H
#define ROTA_PROCMGR_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* A node's lease. Times are microseconds of CLOCK_BOOTTIME, as from clock_boot_us(). */
struct lease {
	int64_t since;	 /* start of the time for which leases were valid without a gap */
	int64_t until;	 /* end of the lease: the node then ends attempts whose node-loss policy says so */
	int64_t dead_by; /* end of the margin: by then no process of attempts that end with the lease is left */
};

enum { LEASE_BOOT_SIZE = 64 };

/* Write the kernel's boot id to `id`, or "" if it cannot be read. */
void lease_boot_id(char id[LEASE_BOOT_SIZE]);

/* Make the lease file, owned by `uid` and `gid`. The content of an existing lease file stays. */
bool lease_make(uid_t uid, gid_t gid, struct err *e);

/* Write the lease file. A concurrent reader gets the old lease, the new lease, or false. */
bool lease_write(const struct lease *lease, struct err *e);

/* Read the lease file. Returns false if the lease is missing, is of another boot, or is being written. */
bool lease_read(struct lease *lease);

/* Extend the lease `before` (NULL if there is none) to `lease_s` seconds after `sent`, the time when procmgrd sent the request
 * for the lease. */
struct lease lease_extended(const struct lease *before, int64_t sent, int lease_s, int margin_s);

/* At three quarters of the margin, a keeper kills processes that SIGTERM has not ended. At seven eighths, the launcher kills
 * keepers that still run an attempt. The rest of the margin covers dying processes and differing clocks. */
int64_t lease_kill_at(const struct lease *lease);
int64_t lease_sweep_at(const struct lease *lease);

#endif
