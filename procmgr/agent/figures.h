/* figures.h - reads what the processes of a step use now, from its cgroup or from /proc, with an ordinary account's rights. */
#ifndef ROTA_PROCMGR_FIGURES_H
#define ROTA_PROCMGR_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* -1: unknown. */
struct figures {
	int64_t cpu_usec;
	int64_t rss_kb, swap_kb;
	int64_t minor_faults, major_faults;
	int64_t read_bytes, write_bytes;
	int64_t processes, threads;
};

void figures_set_unknown(struct figures *f);

/* The mounts of cgroups: version 1 by controller, version 2 as a whole. NULL: nowhere. malloc'ed. */
struct figures_mounts {
	char *memory, *cpuacct, *freezer, *unified;
};

/* Read them from a file in the format of /proc/self/mounts. */
void figures_mounts_read(struct figures_mounts *m, const char *path);
void figures_mounts_free(struct figures_mounts *m);

/* The figures of a cgroup ("rota/.../812.0.1"); false where it does not exist. */
bool figures_of_group(const struct figures_mounts *m, const char *group, struct figures *f);

/* A process as /proc/PID/stat has it. */
struct figures_process {
	pid_t pid, parent, session;
	int64_t started; /* clock ticks since boot */
	int64_t cpu_usec, minor_faults, major_faults, threads,
		rss_kb;	  /* with children that have ended and were waited for, except for memory and threads */
	pid_t root, task; /* of figures_find_keepers */
};

struct figures_processes {
	struct figures_process *list; /* by pid */
	int count, capacity;
};

/* All processes of the folder `proc` ("/proc" outside tests). */
void figures_processes_read(struct figures_processes *all, const char *proc);
void figures_processes_free(struct figures_processes *all);

/* Set for each process the ancestor that is a child of a keeper (`task`), and that keeper (`root`); 0 where there is none. */
void figures_find_keepers(struct figures_processes *all, const pid_t *keepers, int count);

/* Add a process to the sum. Swap and bytes are read now; where they cannot be read, the sum is unknown. */
void figures_add(struct figures *f, const struct figures_process *p, const char *proc);
void figures_set_zero(struct figures *f); /* the sum of no process */

/* The process that has locked the file, by a text in the format of /proc/locks; 0: none. */
pid_t figures_lock_owner(const char *locks, const char *path);

/* A whole small file, malloc'ed; NULL where it cannot be read. */
char *figures_file(const char *path);

#endif
