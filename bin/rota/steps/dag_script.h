/* dag_script.h - the file of `rota run --file`: its plan, and the scripts of its steps. */
#ifndef ROTA_BIN_DAG_SCRIPT_H
#define ROTA_BIN_DAG_SCRIPT_H

#include <jansson.h>
#include <stdint.h>

#include "bin/rota/steps/dag.h"
#include "lib/err.h"

struct dag_script {
	const char *name;
	char *text;
	size_t size;
	json_t *arguments; /* list of strings */
	json_t *plan;	   /* the whole plan */
	char *folder;	   /* folder with the scripts of steps; NULL: not made yet */
	/* for each step: number of its units under way; the step's script is a file as long as this is not 0 */
	int *users;
};

/* Read a job script and translate it into steps. `folder` is the working directory of the steps, an absolute path. Returns false after
 * printing the errors. */
bool dag_script_open(struct dag_script *s, const char *path, char *const *arguments, const char *folder);

/* Remove the files of steps' scripts that are left, with their folder, and free the members of `s`. */
void dag_script_close(struct dag_script *s);

/* Make sure that the script of a step is a file. Returns its malloc'ed path; NULL with an error. dag_script_release() removes the file
 * after as many calls. */
char *dag_script_take(struct dag_script *s, const struct dag *d, int step, struct err *e);
void dag_script_release(struct dag_script *s, const struct dag *d, int step);

/* Returns a hash for each step, malloc'ed: of its lines, the arguments, and the hashes of steps that it waits for. */
uint64_t *dag_script_hashes(const struct dag_script *s, const struct dag *d);

/* Returns the hash by which the log of --resume identifies a unit. */
uint64_t dag_script_unit_hash(uint64_t step_hash, int index);

#endif
