/* substep_proc.h - the processes of this user on this node, as /proc shows them. */
#ifndef ROTA_PROCMGR_SUBSTEP_PROC_H
#define ROTA_PROCMGR_SUBSTEP_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct substep_proc {
	pid_t pid, parent, session;
	int64_t cpu_usec; /* CPU time of the process and of the children that it has waited for */
	int64_t rss_kb;	  /* resident memory; a shared page counts in each process */
};

/* Returns the malloc'ed processes of this process's user, sorted by pid. */
struct substep_proc *substep_proc_read(size_t *count);
const struct substep_proc *substep_proc_find(const struct substep_proc *list, size_t count, pid_t pid);

#endif
