/* process_tree.h - reads processes, their parents and their programs from /proc. */
#ifndef ROTA_PROCESS_TREE_H
#define ROTA_PROCESS_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* A process with its parent. */
struct process_item {
	pid_t pid, parent;
};

/* Returns the parent of a process; 0 if the process does not exist, or has ended and was not reaped yet. */
pid_t process_tree_parent(pid_t pid);
/* Returns all processes that have not ended, and sets *count. malloc'ed. */
struct process_item *process_tree_read(int *count);
/* Is the process `pid` the process `root`, or a descendant of it? */
bool process_tree_has(const struct process_item *all, int count, pid_t pid, pid_t root);
/* Read the path of a process's program. Returns false if the process has ended, or belongs to somebody else. */
bool process_tree_program(pid_t pid, char path[PATH_MAX]);
/* Returns false with an error if the kernel hides the program of a process, since it has, or had, other rights than this process. A process that
 * Rota has forked, and that is about to execute its program, does not count. */
bool process_tree_is_shown(pid_t pid, struct err *e);
/* Does the process run a program of Rota from the folder of this process's own program? */
bool process_tree_is_own(pid_t pid);

#endif
