/* substep_environment.h - arguments, environment and files of a task of a sub-step. */
#ifndef ROTA_PROCMGR_SUBSTEP_ENVIRONMENT_H
#define ROTA_PROCMGR_SUBSTEP_ENVIRONMENT_H

#include "procmgr/stepmgr/substep.h"

/* Returns the rank of a task in the whole sub-step, which programs see. `rank`: index in s->tasks. In an agent, that is the
 * position among the tasks on this node; in the step manager, both are the same. */
int substep_environment_global_rank(const struct substep *s, int rank);
/* returns the position of the task among the tasks on this node */
int substep_environment_local_rank(const struct substep *s, int rank);

/* Returns the arguments of the task's program, NULL-terminated, malloc'ed. A program with a terminal is started by
 * rota-terminal. */
char **substep_environment_argv(const struct substep *s, int rank);

/* Take the variables that the site's burst_buffer.lua has set for the job, as arguments_write() writes a list; NULL: none. Requests
 * from outside get them in place of their own. */
void substep_environment_use_variables(const char *given);

/* Returns the environment of the task: that of the request, with the variables of the sub-step. NULL-terminated, malloc'ed. Its first
 * *borrowed variables are those of the request itself. */
char **substep_environment(const struct substep *s, const struct substep_pool *pool, int rank, size_t *borrowed);

/* Free a list of words, but not its first `borrowed` words. */
void substep_environment_free(char **words, size_t borrowed);

/* Open the file that `pattern` names for this task, for appending or reading. The first task empties an output file. Returns the
 * descriptor, or -1. */
int substep_environment_file(const struct substep *s, const char *pattern, int rank, bool output, struct err *e);

#endif
