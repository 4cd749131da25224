/* fence.h - the control groups around a step's processes (libcgroup, versions 1 and 2), where the machine has them.
 *
 * One group a step attempt on a node, rota/<instance>-<hash of the state folder>/<node>/<key>: memory limit, cores, freezer,
 * and the certainty that everything in it can be found and killed. Without it a step has its sessions and its subreaper. */
#ifndef ROTA_PROCMGR_FENCE_H
#define ROTA_PROCMGR_FENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

struct fence; /* the groups of one node; holds no descriptors, so a forked keeper goes on using it (what fence_hold opens is its own) */

/* Find the controllers and make the node's group; NULL where that cannot be had (the error says why). */
struct fence *fence_new(const char *instance, const char *state, const char *node, struct err *e);
void fence_free(struct fence *f);

/* Does a control group hold the limit of memory, of CPUs? Where it does not, the keeper samples and sets affinities. */
bool fence_limits_memory(const struct fence *f);
bool fence_limits_cpus(const struct fence *f);

/* Remove the empty groups of this node whose attempts are not in use; true where one is not empty yet. */
bool fence_tidy(const struct fence *f, bool (*in_use)(const char *key));

/* Remove the node's group and what is empty above it: the launcher's last act. */
void fence_leave(const struct fence *f);

/* Which `count` of the machine's cores no group of any Rota on it is pinned to, as "0,3"; NULL where there are not so many, as when
 * the node's other attempts, with `others` CPUs, leave fewer. malloc'ed. Looking takes longer than a short step, so that there were not
 * enough is believed for a moment. */
char *fence_pick(struct fence *f, int count, int others);

/* Make the group of an attempt: at most mem_mb of memory (0 = all). */
bool fence_make(const struct fence *f, const char *key, int64_t mem_mb, struct err *e);
/* Keep the attempt, whose group is there, to these cores. */
bool fence_pin(const struct fence *f, const char *key, const char *cores, struct err *e);

/* Keep open what an attempt uses of the group that this process has made, where it may be left to another one. */
void fence_hold(const struct fence *f, const char *key);

/* Leave the empty group of an attempt that is over to another one, all but its cores (`pinned`: it has some); false where that cannot be, and all of it is still to
 * be removed. It can in version 1, which lets a group be renamed: to make one and to remove it is what costs a node most of a short step. */
bool fence_keep(const struct fence *f, const char *key, bool pinned);

/* Make the group that was kept that of another attempt with the same limit. Its figures begin anew, but for what memory is still charged to
 * it; where that is more than 2 MiB, or anything fails, false: neither group is there. */
bool fence_move(const struct fence *f, const char *from, const char *key);

/* Move the calling process into it (root, before it becomes the user); `pinned`: it was made with cores. */
bool fence_enter(const struct fence *f, const char *key, bool pinned, struct err *e);

/* Stop, or let go on, everything in it; false where there is no freezer. */
bool fence_freeze(const struct fence *f, const char *key, bool frozen);

/* Send a signal to each process in it, but to that one. */
void fence_signal(const struct fence *f, const char *key, int signal, pid_t but);

/* Is there no process in it? */
bool fence_is_empty(const struct fence *f, const char *key);

/* SIGKILL to everything in it; true where there was something. */
bool fence_kill(const struct fence *f, const char *key);

struct fence_figures {
	int64_t peak_mb;   /* -1 = not known */
	int64_t cpu_usec;  /* -1 = not known */
	int64_t oom_kills; /* 0 also where it is not known */
};

void fence_read(const struct fence *f, const char *key, struct fence_figures *figures);

/* Remove the empty group of an attempt; the kernel may need a moment to see that it is empty. False where it is still there. */
bool fence_remove(const struct fence *f, const char *key, int64_t patience_usec);

#endif
