/* dmtcp_tasks.h - the tasks of a step that DMTCP saves together: their folders, their processes, their common start. */
#ifndef ROTA_DMTCP_TASKS_H
#define ROTA_DMTCP_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

enum { DMTCP_TASK_NAME_SIZE = 32 };

/* Returns how many tasks the step has. */
int dmtcp_tasks_count(void);
/* Store the name of the folder, in one of images, that is a task's own. Returns false if the step has one task, whose images are
 * in the folder of images itself. */
bool dmtcp_tasks_folder(int rank, char name[DMTCP_TASK_NAME_SIZE]);

/* Write down the process of this task, in the folder `run` of the attempt. `joined`: the task will not call dmtcp_tasks_join(), as
 * DMTCP restores the tasks together. */
bool dmtcp_tasks_note(const char *run, int rank, bool joined, struct err *e);
/* Returns the process that a task has written down; 0: none yet. */
pid_t dmtcp_tasks_process(const char *run, int rank);
/* In a task that has joined the coordinator, before its program: wait until all tasks have. A coordinator ends with the last
 * process that has joined, so one task could otherwise end it before the next one joins. */
bool dmtcp_tasks_join(int seconds, struct err *e);
/* Returns the lowest number of a task whose process has ended; -1: none has. `all_due`: a task that has written down no process counts
 * too. */
int dmtcp_tasks_lost(const char *run, bool all_due);
/* Have all tasks joined, and does none of them miss in the coordinator's list of processes? */
bool dmtcp_tasks_all_listed(const char *run, const char *list, struct err *e);

#endif
