/* process_tree.h - the processes of a step, as /proc has them. */
#ifndef ROTA_PROCESS_TREE_H
#define ROTA_PROCESS_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* A process with its parent. */
struct process_item {
	pid_t pid, parent;
};

/* Read the parent of a process. Returns 0 if it is gone, or has ended and only waits for its parent. */
pid_t process_tree_parent(pid_t pid);
/* Returns all processes that have not ended, and sets *count. malloc'ed. */
struct process_item *process_tree_read(int *count);
/* Is the process `root`, or below it? */
bool process_tree_has(const struct process_item *all, int count, pid_t pid, pid_t root);
/* Read the path of a process's program. Returns false if the process has ended, or belongs to somebody else. */
bool process_tree_program(pid_t pid, char path[PATH_MAX]);
/* Does the process run a program of Rota from the folder of this process's own program? */
bool process_tree_is_own(pid_t pid);

#endif
