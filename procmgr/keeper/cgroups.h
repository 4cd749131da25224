/* cgroups.h - the cgroups around the processes of a node's attempts (libcgroup, versions 1 and 2), where the machine has them.
 *
 * Each attempt on a node has one cgroup, rota/<instance>-<hash of the state folder>/<node>/<key>. It limits memory and cores,
 * freezes, and finds and kills every process of the attempt. Without it, an attempt has only its sessions and its subreaper. */
#ifndef ROTA_PROCMGR_CGROUPS_H
#define ROTA_PROCMGR_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

struct cgroups; /* of one node; it has no open files, so a forked keeper can go on using it (those of cgroups_keep_open are the keeper's own) */

/* Find the controllers and make the node's cgroup; NULL where that is not possible, with the reason. */
struct cgroups *cgroups_new(const char *instance, const char *state, const char *node, struct err *e);
void cgroups_free(struct cgroups *f);

/* Does a cgroup limit memory, or CPUs? If not, the keeper measures memory and sets affinities. */
bool cgroups_limit_memory(const struct cgroups *f);
bool cgroups_limit_cpus(const struct cgroups *f);

/* Remove the empty cgroups of this node whose attempts are not in use; true where one is not empty yet. */
bool cgroups_remove_unused(const struct cgroups *f, bool (*in_use)(const char *key));

/* Remove the node's cgroup and its parents where they are empty: the launcher's last act. */
void cgroups_remove_node(const struct cgroups *f);

/* Pick `count` cores to which no cgroup of any Rota on this machine is pinned, as "0,3"; malloc'ed. NULL where there are not
 * so many, or where the node's other attempts, which have `others` CPUs, leave fewer. A search takes longer than a short step,
 * so a failed one is not repeated for a moment. */
char *cgroups_pick_cores(struct cgroups *f, int count, int others);

/* Make the cgroup of an attempt, with at most mem_mb of memory (0 = no limit). */
bool cgroups_make(const struct cgroups *f, const char *key, int64_t mem_mb, struct err *e);
/* Pin the attempt's cgroup to these cores. */
bool cgroups_pin(const struct cgroups *f, const char *key, const char *cores, struct err *e);

/* Keep open the files that an attempt uses, of a cgroup that this process has made and may reuse. */
void cgroups_keep_open(const struct cgroups *f, const char *key);

/* Prepare the empty cgroup of an attempt that has ended for reuse; only its cpuset (`pinned`: it has one) is removed. False
 * where cgroups cannot be renamed (version 2); all of it is then still to be removed. Making and removing cgroups is most of
 * what a short step costs a node. */
bool cgroups_release(const struct cgroups *f, const char *key, bool pinned);

/* Rename a released cgroup for another attempt with the same limit. Its figures start anew, except for memory that is still
 * charged to it. False where that is more than 2 MiB, or where anything fails: neither cgroup exists then. */
bool cgroups_reuse(const struct cgroups *f, const char *from, const char *key);

/* Move the calling process into it (as root, before it becomes the user). pinned: it has a cpuset. */
bool cgroups_enter(const struct cgroups *f, const char *key, bool pinned, struct err *e);

/* Stop everything in it, or let it go on; false where there is no freezer. */
bool cgroups_freeze(const struct cgroups *f, const char *key, bool frozen);

/* Send a signal to each process in it, except `but`. */
void cgroups_signal(const struct cgroups *f, const char *key, int signal, pid_t but);

bool cgroups_are_empty(const struct cgroups *f, const char *key);

/* SIGKILL to everything in it; true where there was something. */
bool cgroups_kill(const struct cgroups *f, const char *key);

struct cgroups_figures {
	int64_t peak_mb;   /* -1 = unknown */
	int64_t cpu_usec;  /* -1 = unknown */
	int64_t oom_kills; /* 0 also where it is unknown */
};

void cgroups_read(const struct cgroups *f, const char *key, struct cgroups_figures *figures);

/* Remove the empty cgroup of an attempt. The kernel may need up to `wait_usec` to see that it is empty. False where it is
 * still there. */
bool cgroups_remove(const struct cgroups *f, const char *key, int64_t wait_usec);

#endif
