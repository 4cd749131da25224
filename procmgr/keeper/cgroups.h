/* cgroups.h - the cgroups of a node's attempts (versions 1 and 2, by libcgroup), if the machine has cgroups.
 *
 * Each attempt on a node has one cgroup, rota/<instance>-<hash of the state folder>/<node>/<key>. The cgroup limits memory and
 * cores, freezes, and finds and kills every process of the attempt. Without a cgroup, an attempt has only its sessions and its
 * subreaper. */
#ifndef ROTA_PROCMGR_CGROUPS_H
#define ROTA_PROCMGR_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "procmgr/keeper/devices.h"

/* The cgroups of one node. The object has no open files, so a forked keeper can go on using it. The files of cgroups_keep_open
 * are the keeper's own. */
struct cgroups;

struct cgroups_options {
	int processes; /* most processes and threads of an attempt; 0 means any number */
	bool devices;  /* cgroups_restrict_devices is called for each attempt */
};

/* Find the controllers and make the node's cgroup. Returns NULL if that fails; `e` has the reason. */
struct cgroups *cgroups_new(const char *instance, const char *state, const char *node, const struct cgroups_options *options,
			    struct err *e);
void cgroups_free(struct cgroups *f);

/* Can cgroups limit memory, CPUs, or the number of processes? If not, the keeper measures memory, or sets CPU affinities. */
bool cgroups_limit_memory(const struct cgroups *f);
bool cgroups_limit_cpus(const struct cgroups *f);
bool cgroups_limit_processes(const struct cgroups *f);

/* Remove the empty cgroups of this node whose attempts are not in use. Returns true if a cgroup could not be removed yet. */
bool cgroups_remove_unused(const struct cgroups *f, bool (*in_use)(const char *key));

/* Remove the node's cgroup and its parents if they are empty. The launcher calls this function at its end. */
void cgroups_remove_node(const struct cgroups *f);

/* Pick `count` cores to which no cgroup of any Rota on this machine is pinned, as "0,3"; malloc'ed. Returns NULL if fewer than
 * `count` cores are free, or if the node's other attempts, with `others` CPUs together, leave fewer. A search takes longer than a
 * short step, so a failed search is not repeated for 250 ms. */
char *cgroups_pick_cores(struct cgroups *f, int count, int others);

/* Make the cgroup of an attempt, with at most `mem_mb` MiB of memory; 0 means no limit. */
bool cgroups_make(const struct cgroups *f, const char *key, int64_t mem_mb, struct err *e);
/* Pin the attempt's cgroup to a list of cores, such as "0,3". */
bool cgroups_pin(const struct cgroups *f, const char *key, const char *cores, struct err *e);

/* Keep open the files of a cgroup that this process has made and may reuse. */
void cgroups_keep_open(const struct cgroups *f, const char *key);

/* Prepare the empty cgroup of an ended attempt for reuse, by removing only its cpuset, if it is `pinned`, and its devices. Returns false if
 * cgroups cannot be renamed (version 2): the caller then removes the whole cgroup. Making and removing cgroups is most of what a
 * short step costs a node. */
bool cgroups_release(const struct cgroups *f, const char *key, bool pinned);

/* Rename a released cgroup for another attempt with the same limit. The figures of the cgroup start anew, except for memory that
 * is still charged to it. Returns false if more than 2 MiB are charged, or if renaming fails: neither cgroup exists then. */
bool cgroups_reuse(const struct cgroups *f, const char *from, const char *key);

/* Let the processes of the attempt use only the `count` devices of `list`. */
bool cgroups_restrict_devices(const struct cgroups *f, const char *key, const struct device *list, int count, struct err *e);
/* The same for a cgroup that is restricted already: the list replaces the former one. */
bool cgroups_change_devices(const struct cgroups *f, const char *key, const struct device *list, int count, struct err *e);

/* Move the calling process into the cgroup of an attempt, as root, before the process becomes the user. `pinned` is true if the
 * cgroup has a cpuset. */
bool cgroups_enter(const struct cgroups *f, const char *key, bool pinned, struct err *e);

/* Stop every process of the cgroup, or let all of them continue. Returns false if the freezer cannot be written. */
bool cgroups_freeze(const struct cgroups *f, const char *key, bool frozen);

/* Send a signal to each process in the cgroup, except `but`. */
void cgroups_signal(const struct cgroups *f, const char *key, int signal, pid_t but);
/* Signal only those processes of the cgroup that handle the signal. Returns their number. */
int cgroups_signal_handlers(const struct cgroups *f, const char *key, int signal, pid_t but);

/* Returns true if is_it() returns true for some thread in the cgroup. */
bool cgroups_have_thread(const struct cgroups *f, const char *key, bool (*is_it)(pid_t thread, const void *arg), const void *arg);

bool cgroups_are_empty(const struct cgroups *f, const char *key);

/* Send SIGKILL to every process in the cgroup. Returns true if there was a process. */
bool cgroups_kill(const struct cgroups *f, const char *key);

struct cgroups_figures {
	int64_t peak_mb;       /* most memory of the cgroup, cached pages of files included; -1 if unknown */
	int64_t cpu_usec;      /* CPU time of the cgroup; -1 if unknown */
	int64_t oom_kills;     /* processes killed for memory; 0 also if the number is unknown */
	int64_t forks_refused; /* processes and threads that the limit of processes refused; 0 also if the number is unknown */
};

void cgroups_read(const struct cgroups *f, const char *key, struct cgroups_figures *figures);

/* Returns the memory of the cgroup that the kernel cannot drop, in KiB: anonymous and shared memory, and in version 2 also that of
 * the kernel. -1 if unknown. */
int64_t cgroups_memory_kb(const struct cgroups *f, const char *key);

/* Remove the empty cgroup of an attempt. Wait up to `wait_usec` for the kernel to see that the cgroup is empty. Returns false if
 * the cgroup still exists. */
bool cgroups_remove(const struct cgroups *f, const char *key, int64_t wait_usec);

#endif
