/* checkpoint_tasks.h - tasks of a step that go on from one checkpoint: task 0 chooses it, and tells the others. */
#ifndef ROTA_CHECKPOINT_TASKS_H
#define ROTA_CHECKPOINT_TASKS_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "procmgr/checkpoint/checkpoint.h"

/* Is this process one of several tasks that are saved together? */
bool checkpoint_tasks_are_several(const struct checkpoint *c);
/* Returns the number of this task, from 0. */
int checkpoint_tasks_rank(void);
/* After the tasks of this node have ended well: have those of all other nodes of the step, too? Returns true on one node only. */
bool checkpoint_tasks_are_over(const struct checkpoint *c);
/* Is `name`, an entry of the folder of the step, the file by which task 0 of this attempt tells the others? */
bool checkpoint_tasks_is_file(const char *name);

/* In task 0: make the file for which the other tasks wait, and lock it until this process ends or executes a program. Returns a
 * descriptor for checkpoint_tasks_tell(), -1 with an error. */
int checkpoint_tasks_lead(const struct checkpoint *c, struct err *e);
/* Have the other tasks go on: `from` is the database's answer with the checkpoint, and `restores` says whether the driver restores
 * it. Closes `fd`. */
bool checkpoint_tasks_tell(int fd, const json_t *from, bool restores, struct err *e);
/* In another task: wait until task 0 tells. Returns `from`; NULL with an error if task 0 has ended without a word. */
json_t *checkpoint_tasks_await(const struct checkpoint *c, bool *restores, struct err *e);

#endif
