/* checkpoint_step.h - the step of an attempt that starts or makes checkpoints. */
#ifndef ROTA_CHECKPOINT_STEP_H
#define ROTA_CHECKPOINT_STEP_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "procmgr/checkpoint/checkpoint.h"
#include "procmgr/checkpoint/driver.h"

enum { CHECKPOINT_NAME_SIZE = 64, CHECKPOINT_EXIT_WRONG = 1 };

/* Print an error to standard error. Returns the exit code of rota-checkpoint after an error. */
int checkpoint_step_error(const struct err *e);
/* Returns the value of a variable of the environment, "" if it is not set. */
const char *checkpoint_step_variable(const char *name);
/* Store in `name` the name of the folder, in that of the step, to which this attempt's program writes its next checkpoint. */
void checkpoint_step_next(char name[CHECKPOINT_NAME_SIZE]);
/* Returns the path of an entry of the step's folder, malloc'ed. */
char *checkpoint_step_path(const struct checkpoint *c, const char *name);
/* Open the folder of the step; with `make`, make it if it does not exist. Returns a descriptor, -1 with an error. */
int checkpoint_step_open(const struct checkpoint *c, bool make, struct err *e);
/* Compare the files of the checkpoint in the folder `path` with the list `files`. */
enum folder_match checkpoint_step_compare(const struct driver *driver, const char *path, const json_t *files, struct err *e);
/* Set the environment variables that the program reads. `from`: the database's answer with the checkpoint to start from; NULL:
 * set only the variables for the folder to which the program writes. */
void checkpoint_step_export(const struct checkpoint *c, const json_t *from);
/* Set the time that a driver has to save or restore the step, and the hosts of its nodes, from the database's answer, which must stay. */
void checkpoint_step_wait(struct driver_use *use, const json_t *answer);

#endif
