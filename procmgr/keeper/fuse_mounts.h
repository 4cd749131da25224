/* fuse_mounts.h - keeps the FUSE file systems of a step's user from holding up the node.
 *
 * The server of a FUSE mount is a process of the user. While it does not answer, a process that waits for it cannot be killed. When
 * it has ended, the mount stays in the mount table, and each access to it fails. */
#ifndef ROTA_PROCMGR_FUSE_MOUNTS_H
#define ROTA_PROCMGR_FUSE_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Does the thread wait for a FUSE server? False also if the kernel does not say where threads wait. */
bool fuse_mounts_hold(pid_t thread, const void *unused);

/* Abort the user's FUSE connections on which a process waits, in any mount namespace. Those of root are the site's and stay. */
void fuse_mounts_abort(uid_t uid);

/* Has the mount table changed since the last call? `table` is 0 before the first call, and then an open file. */
bool fuse_mounts_changed(int *table);

/* Returns true if the mount table has FUSE mounts of the user, but no process of the user is a FUSE server. */
bool fuse_mounts_are_dead(uid_t uid);

/* Detach the user's FUSE mounts. Call as root in a process of its own, because it opens paths that lead through the user's folders.
 * `uid` points to the uid_t. Writes the mount points to descriptor 1; returns 0. */
int fuse_mounts_detach(const void *uid);

#endif
