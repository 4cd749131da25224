/* figures.h - reads the resource usage of a step's processes, from the step's cgroup or from /proc, without root rights. */
#ifndef ROTA_PROCMGR_FIGURES_H
#define ROTA_PROCMGR_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Resource usage of processes. A figure of -1 is unknown. */
struct figures {
	int64_t cpu_usec;
	int64_t rss_kb, swap_kb;
	int64_t minor_faults, major_faults;
	int64_t rchar, wchar;		 /* bytes of read and write calls on any file (proc(5), /proc/PID/io) */
	int64_t read_bytes, write_bytes; /* bytes from and to storage */
	int64_t processes, threads;
};

void figures_set_unknown(struct figures *f);

/* Mount points of cgroup controllers (version 1) and of the unified hierarchy (version 2). A member is NULL if there is no such
 * mount. All are malloc'ed. */
struct figures_mounts {
	char *memory, *cpuacct, *freezer, *unified;
};

/* Read the cgroup mount points from a file in the format of /proc/self/mounts. */
void figures_mounts_read(struct figures_mounts *m, const char *path);
void figures_mounts_free(struct figures_mounts *m);

/* Read the figures of a cgroup, such as "rota/.../812.0.1". Returns false if the cgroup does not exist. */
bool figures_of_group(const struct figures_mounts *m, const char *group, struct figures *f);

/* Figures of a process from /proc/PID/stat. All but `rss_kb` and `threads` include its ended children that were waited for. */
struct figures_process {
	pid_t pid, parent, session;
	int64_t started; /* start of the process in clock ticks since boot */
	int64_t cpu_usec, minor_faults, major_faults, threads, rss_kb;
	pid_t root, task; /* set by figures_find_keepers */
};

struct figures_processes {
	struct figures_process *list; /* sorted by pid */
	int count, capacity;
};

/* Read all processes from the folder `proc`, which is "/proc" outside tests. */
void figures_processes_read(struct figures_processes *all, const char *proc);
void figures_processes_free(struct figures_processes *all);

/* For each descendant of a keeper, set `root` to the keeper, and `task` to the child of the keeper from which the process
 * descends. Both are 0 for other processes. */
void figures_find_keepers(struct figures_processes *all, const pid_t *keepers, int count);

/* Add a process to the sum. Swap and byte counts are read now; if they cannot be read, that sum becomes unknown. */
void figures_add(struct figures *f, const struct figures_process *p, const char *proc);
void figures_set_zero(struct figures *f); /* start a sum with all figures 0 */

/* Returns the process that has locked the file `path`, or 0 if there is none. `locks` has the format of /proc/locks. */
pid_t figures_lock_owner(const char *locks, const char *path);

/* Read a whole small file into malloc'ed memory. Returns NULL if the file cannot be read. */
char *figures_file(const char *path);

#endif
