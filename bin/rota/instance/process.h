/* process.h - start and end the daemons of a private instance: fork, session, log file, environment; by pid only. */
#ifndef ROTA_BIN_PROCESS_H
#define ROTA_BIN_PROCESS_H

#include "bin/rota/instance/instance.h"

/* Start argv[0] as a daemon: its own session, nothing inherited but a clean environment, output appended to log/NAME.log; as the
 * instance's account unless `as_root`. The pid, or -1 when it could not be executed. */
pid_t process_start(const struct instance *in, const char *name, const char *const *argv, bool as_root, struct err *e);

/* Run argv[0] to its end the same way; an error tells how it ended. */
bool process_run(const struct instance *in, const char *name, const char *const *argv, struct err *e);

/* Call `work` in a child that has become the instance's account, so that root never writes in folders of the account. */
bool process_as_account(const struct instance *in, bool (*work)(const struct instance *in, struct err *e), struct err *e);

/* Wait until ready(in, arg) says true. Fails, with the end of log/NAME.log as the hint's subject on standard error, when
 * `pid` (0: unknown) ends or `seconds` pass first. */
bool process_await(const struct instance *in, const char *name, pid_t pid, int seconds,
		   bool (*ready)(const struct instance *in, const void *arg), const void *arg, struct err *e);

/* A daemon as `rota up` has it run. */
struct process_part {
	const char *what; /* for people */
	const char *log;  /* log/LOG.log */
	const char *const *argv;
	pid_t (*find)(const struct instance *in, const void *arg); /* its pid, 0 where it does not run */
	bool (*ready)(const struct instance *in, const void *arg); /* it serves */
	bool (*prepare)(const struct instance *in, struct err *e); /* called before it is started; NULL: nothing to do */
	const void *arg;					   /* for find and ready */
	int seconds;						   /* how long it may take until it serves */
};

/* Have a part run and serve: start it where it does not run, also where it ends while it is waited for. */
bool process_have(const struct instance *in, const struct process_part *part, struct err *e);

/* End `pid` with `signal`; after `seconds` with SIGKILL. `alive` says whether the part still runs. False if it will not go. */
bool process_end(const struct instance *in, pid_t pid, int signal, int seconds,
		 pid_t (*alive)(const struct instance *in, const void *arg), const void *arg);

/* Print the last lines of log/NAME.log on standard error. */
void process_log_tail(const struct instance *in, const char *name);

/* A short rest between two looks. */
void process_rest(int milliseconds);

#endif
