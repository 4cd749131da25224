/* figures.h - what the processes of a step use now, read from its control group or from /proc; nothing here takes more than what
 * everybody may read. */
#ifndef ROTA_PROCMGR_FIGURES_H
#define ROTA_PROCMGR_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* -1: not known. */
struct figures {
	int64_t cpu_usec;
	int64_t rss_kb, swap_kb;
	int64_t minor_faults, major_faults;
	int64_t read_bytes, write_bytes;
	int64_t processes, threads;
};

void figures_clear(struct figures *f);

/* Where control groups are mounted: version 1 by controller, version 2 as a whole. NULL: nowhere. malloc'ed. */
struct figures_mounts {
	char *memory, *cpuacct, *freezer, *unified;
};

/* As a file in the form of /proc/self/mounts says. */
void figures_mounts_read(struct figures_mounts *m, const char *path);
void figures_mounts_free(struct figures_mounts *m);

/* The figures of a control group ("rota/.../812.0.1"); false where there is none. */
bool figures_of_group(const struct figures_mounts *m, const char *group, struct figures *f);

/* A process as /proc/PID/stat has it. */
struct figures_process {
	pid_t pid, parent, session;
	int64_t started; /* clock ticks since boot */
	int64_t cpu_usec, minor_faults, major_faults, threads,
		rss_kb;	  /* with children that were waited for, but for memory and threads */
	pid_t root, task; /* for figures_descend */
};

struct figures_processes {
	struct figures_process *list; /* by pid */
	int count, room;
};

/* All processes there are below `proc` (which is "/proc"). */
void figures_processes_read(struct figures_processes *all, const char *proc);
void figures_processes_free(struct figures_processes *all);

/* Of each process the ancestor that is a child of a keeper (`task`), and that keeper (`root`); 0 where there is none. `keepers` rise. */
void figures_descend(struct figures_processes *all, const pid_t *keepers, int count);

/* Add a process to the sum: swap and bytes are read now, and not known any more where one of them may not be read. */
void figures_add(struct figures *f, const struct figures_process *p, const char *proc);
void figures_begin(struct figures *f); /* a sum of nothing */

/* Who holds a lock on the file, as a text in the form of /proc/locks says; 0: nobody. */
pid_t figures_holder(const char *locks, const char *path);

/* A whole small file, malloc'ed; NULL where it cannot be read. */
char *figures_file(const char *path);

#endif
