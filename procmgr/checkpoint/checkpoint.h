/* checkpoint.h - what rota-checkpoint does for the attempt of a step, as the owner of the job. */
#ifndef ROTA_CHECKPOINT_H
#define ROTA_CHECKPOINT_H

#include <stdbool.h>

/* Exit code of a program that has saved itself, or could not go on from a checkpoint: the step is queued again. */
enum { CHECKPOINT_EXIT_AGAIN = 85 };

struct checkpoint {
	const char *config; /* path of rota.conf */
	const char *driver; /* --checkpoint: app, auto, dmtcp, criu or script:NAME */
	const char *dir;    /* folder for checkpoints (--checkpoint-dir), absolute */
	const char *asked;  /* file in which the keeper says for what reason the program was signalled last */
	bool is_task;	    /* the program is one of the step's tasks (--run=tasks) */
};

/* Find the latest whole checkpoint, set the environment variables that name it, and execute the program. Returns an exit code
 * only if that fails. */
int checkpoint_start(const struct checkpoint *c, const char *program, char **argv);
/* Returns the exit code 0 if the driver criu, which needs a PID namespace, would be chosen to start the program; else another
 * one. */
int checkpoint_choose(const struct checkpoint *c, const char *program, char *const *argv);
/* Open standard input, output and error anew by their paths (`files`: three, "" for one that stays as it is), and execute a
 * program. So a driver that saves open files can save these too. Returns an exit code only if that fails. */
int checkpoint_run(char *const *files, const char *program, char *const *argv);
/* Make a checkpoint of files that the program has written: of `files` or, if there are none, of all in ROTA_CHECKPOINT_DIR.
 * Returns an exit code. */
int checkpoint_done(const struct checkpoint *c, char *const *files);
/* Have the driver save the step. If `fail` is not NULL, only report that no checkpoint can be made, with this reason. Returns an
 * exit code. */
int checkpoint_take(const struct checkpoint *c, const char *fail);
/* Call after the program has ended well: remove all checkpoints of the step. `all_nodes`: only after the tasks of all nodes have; each node
 * calls this. Returns an exit code. */
int checkpoint_end(const struct checkpoint *c, bool all_nodes);
/* Call after a program has ended that is to run again: make a checkpoint of what it has saved. Returns an exit code. */
int checkpoint_again(const struct checkpoint *c);
/* Compare the files of the checkpoint in the folder `path`, which `driver` took, with the list on standard input. The second function
 * removes that folder. Both return an exit code. */
int checkpoint_verify(const char *path, const char *driver);
int checkpoint_discard(const char *path);
/* Command `suspend`: move the programs of the step off its GPUs; command `resume`: move them back. Returns an exit code. */
int checkpoint_devices(const char *config, const char *command);

#endif
