/* run_options.h - parses the options of `rota run` into a request for the step manager. */
#ifndef ROTA_BIN_RUN_OPTIONS_H
#define ROTA_BIN_RUN_OPTIONS_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/rota.h"

enum run_option_id {
	RUN_MEM = 256,
	RUN_GRES,
	RUN_EXCLUSIVE,
	RUN_OVERLAP,
	RUN_MULTI_PROG,
	RUN_DETACH,
	RUN_AFTER,
	RUN_PRIORITY,
	RUN_RETRY,
	RUN_EXPORT,
	RUN_CPU_BIND,
	RUN_EACH,
	RUN_RESUME,
	RUN_QOS,
	RUN_HOLD,
	RUN_PTY,
	RUN_KILL_ON_HANGUP,
	RUN_SESSION,
	RUN_IDLE_TIMEOUT,
	RUN_NTASKS_PER_NODE,
	RUN_FILE,
	RUN_NOTIFY,
	RUN_BB,
	RUN_BBF,
};

/* Values of a task's rank in an option about input or output: all tasks, or none. */
enum { RUN_ALL_TASKS = -1, RUN_NO_TASK = -2 };

struct run_options {
	struct rota_run run;  /* the texts in `run` are those of the command line, or malloc'ed */
	const char *export;   /* NULL: ALL */
	const char *arg_file; /* --arg-file: file with the lines of --each; NULL: standard input */
	/* outside a job: --partition, --account and --qos of the allocation; NULL: the user's defaults */
	const char *partition, *account, *qos;
	/* outside a job: the directives of --bb, and the file of --bbf with them; NULL: none */
	const char *bb, *bbf;
	const char *file;	/* --file: script whose steps are run; NULL: none */
	const char *resume_log; /* log of --resume; NULL: the default path */
	/* --wait in seconds: end the tasks so long after the first one has ended; 0: tasks may go on */
	int wait_s;
	int output_task, error_task; /* rank of the task whose output is printed, or RUN_ALL_TASKS */
	bool label, unbuffered, multi_prog, each, resume, hold, pty, kill_on_hangup, has_output, has_error, has_input, has_ntasks;
};

#define RUN_OPTIONS                                                                                                              \
	{                                                                                                                        \
		.output_task = RUN_ALL_TASKS, .error_task = RUN_ALL_TASKS                                                        \
	}

/* Take one option with its value. Returns false with an error if the value is wrong. */
bool run_options_take(struct run_options *o, int id, const char *value, struct err *e);

/* Returns true if the option can be combined with --file. Other options are about one sub-step, and the file has them for each
 * step. */
bool run_options_is_for_file(int id);

/* Returns true if the name is valid for a session. It must begin with a letter, so that it cannot be taken for a job. */
bool run_options_session_is_valid(const char *name);

/* Check options against each other, and set members that follow from several options. */
bool run_options_finish(struct run_options *o, struct err *e);

/* Returns the environment for a value of --export, NULL at the end: the variables it names, and those of the job (ROTA_,
 * SLURM_, PBS_). Variables that are not UTF-8 are left out, because a message cannot have them. The texts are those of
 * `environment`, or malloc'ed. */
char **run_options_environment(const char *export, char *const *environment);

#endif
