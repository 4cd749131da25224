/* checkpoint_step.h - the step of an attempt that starts or makes checkpoints. */
#ifndef ROTA_CHECKPOINT_STEP_H
#define ROTA_CHECKPOINT_STEP_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "procmgr/checkpoint/checkpoint.h"
#include "procmgr/checkpoint/driver.h"

enum { CHECKPOINT_NAME_SIZE = 64, CHECKPOINT_EXIT_WRONG = 1 };

/* Print an error. Returns the exit code after one. */
int checkpoint_step_error(const struct err *e);
/* Returns the value of a variable of the environment, "" if it is not set. */
const char *checkpoint_step_variable(const char *name);
/* Returns the name of the folder that the program writes to. */
void checkpoint_step_next(char name[CHECKPOINT_NAME_SIZE]);
/* Returns the path of an entry of the step's folder, malloc'ed. */
char *checkpoint_step_path(const struct checkpoint *c, const char *name);
/* Open the folder of the step, made if `make` is true. Returns a descriptor, -1 with an error. */
int checkpoint_step_open(const struct checkpoint *c, bool make, struct err *e);
/* Compare the files of the checkpoint in the folder `path`. */
enum folder_match checkpoint_step_compare(const struct driver *driver, const char *path, const json_t *files, struct err *e);
/* Set the variables that the program reads. `from`: the checkpoint, NULL where only the folder to write to counts. */
void checkpoint_step_export(const struct checkpoint *c, const json_t *from);
/* Give a driver the time that the database allows it. */
void checkpoint_step_wait(struct driver_use *use, const json_t *answer);

#endif
