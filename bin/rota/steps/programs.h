/* programs.h - the file of --multi-prog: which tasks run which program. */
#ifndef ROTA_BIN_PROGRAMS_H
#define ROTA_BIN_PROGRAMS_H

#include "lib/err.h"
#include "lib/rota.h"

/* The programs of a file of `rota run --multi-prog`, with the memory that they point to. */
struct programs {
	struct rota_program *list;
	size_t count;
	int ntasks; /* number of tasks: the number of --ntasks, or 1 more than the highest rank in the file */
};

/* Parse the text of a file. A line is TASKS PROGRAM [ARGUMENT]..., where TASKS is a list such as 0-3,6 or *, which is all
 * tasks that no other line names. %t is the number of the task, %o its position in the list of the line. Quotes and
 * backslashes are those of a shell. `ntasks` is 0 if the number of tasks follows from the file. `name` is for errors. */
bool programs_parse(const char *text, const char *name, int ntasks, struct programs *p, struct err *e);

#endif
