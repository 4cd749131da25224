/* checkpoint.h - what rota-checkpoint does for the attempt of a step, as the owner of the job. */
#ifndef ROTA_CHECKPOINT_H
#define ROTA_CHECKPOINT_H

#include <stdbool.h>

struct checkpoint {
	const char *config; /* path of rota.conf */
	const char *driver; /* --checkpoint: app, auto, dmtcp, criu or script:NAME */
	const char *dir;    /* folder for checkpoints (--checkpoint-dir), absolute */
	const char *asked;  /* file in which the keeper says for what reason the program was signalled last */
};

/* Find the latest whole checkpoint, and execute a program with the variables that say so. Returns an exit code only if that fails. */
int checkpoint_start(const struct checkpoint *c, const char *program, char **argv);
/* Would a program be started by the driver criu, which needs a PID namespace? Returns the exit code 0 if so. */
int checkpoint_choose(const struct checkpoint *c, const char *program, char *const *argv);
/* Have standard input, output and error opened by their paths (`files`: three, "" for one that stays), and execute a program. A driver that saves
 * open files saves these too then. Returns an exit code only if that fails. */
int checkpoint_run(char *const *files, const char *program, char *const *argv);
/* Make a checkpoint of files that the program has written: those named, or without names all in ROTA_CHECKPOINT_DIR. Returns an exit code. */
int checkpoint_done(const struct checkpoint *c, char *const *files);
/* Have the driver save the step; or report that nobody can, since `fail`. Returns an exit code. */
int checkpoint_take(const struct checkpoint *c, const char *fail);
/* After the program: keep what it has saved if it is to run `again`, remove all checkpoints otherwise. Returns an exit code. */
int checkpoint_end(const struct checkpoint *c, bool again);
/* Compare the files of a checkpoint with the list on standard input, or remove them. `path`: the folder. Returns an exit code. */
int checkpoint_verify(const char *path);
int checkpoint_discard(const char *path);
/* Command `suspend`: move the programs of the step off its GPUs; command `resume`: move them back. Returns an exit code. */
int checkpoint_devices(const char *config, const char *command);

#endif
