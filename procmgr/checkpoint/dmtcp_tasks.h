/* dmtcp_tasks.h - the tasks of a step that DMTCP saves together: their folders, their processes, their common start. */
#ifndef ROTA_DMTCP_TASKS_H
#define ROTA_DMTCP_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

enum { DMTCP_TASK_NAME_SIZE = 32 };

/* Returns how many tasks the step has. */
int dmtcp_tasks_count(void);
/* Return how many nodes the step has, and the number of this one among them, from 0. */
int dmtcp_tasks_nodes(void);
int dmtcp_tasks_node(void);
/* Store the name of the folder, in one of images, that is a task's own. Returns false if the step has one task, whose images are
 * in the folder of images itself. */
bool dmtcp_tasks_folder(int rank, char name[DMTCP_TASK_NAME_SIZE]);

/* Make the empty file `name` in the folder `run` of the attempt, if it does not exist. It says something to other processes, or they write
 * to it. */
bool dmtcp_tasks_make_file(const char *run, const char *name, struct err *e);
/* Write down the process of this task, in the folder `run` of the attempt. `joined`: the task will not call dmtcp_tasks_join(), as
 * DMTCP restores the tasks together. */
bool dmtcp_tasks_note(const char *run, int rank, bool joined, struct err *e);
/* Returns the process that a task of this node has written down; 0: none yet, or the task is on another node. */
pid_t dmtcp_tasks_process(const char *run, int rank);
/* In a task that has joined the coordinator, before its program: wait until all tasks have. A coordinator ends with the last
 * process that has joined, so one task could otherwise end it before the next one joins. */
bool dmtcp_tasks_join(int seconds, struct err *e);
/* Returns the lowest number of a task whose process has ended, on another node only if that node has said so; -1: none has. `all_due`: a
 * task that has written down no process counts too. */
int dmtcp_tasks_lost(const char *run, bool all_due);
/* Say to the other nodes that a task of this node has ended. */
void dmtcp_tasks_say_lost(const char *run, int rank);
/* Does a process of this node's tasks run? */
bool dmtcp_tasks_run_here(const char *run);
/* Have all tasks joined, and does none of those of this node miss in the coordinator's list of processes? */
bool dmtcp_tasks_all_listed(const char *run, const char *list, struct err *e);

#endif
