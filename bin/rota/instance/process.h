/* process.h - starts and ends the daemons of a private instance. */
#ifndef ROTA_BIN_PROCESS_H
#define ROTA_BIN_PROCESS_H

#include "bin/rota/instance/instance.h"

/* Start argv[0] as a daemon: with a session of its own, a clean environment and no inherited descriptors. Its output is
 * appended to log/NAME.log. If the instance is root's, the daemon runs as `account`; NULL means as root. Returns the pid, or -1
 * if argv[0] could not be executed. */
pid_t process_start(const struct instance *in, const char *name, const char *const *argv, const char *account, struct err *e);

/* Run a program as process_start() does, and wait for its end. Returns false if the program failed; the error says how the
 * program ended. */
bool process_run(const struct instance *in, const char *name, const char *const *argv, struct err *e);

/* Call `work` in a child process that runs as the account of the instance, so that root never writes in folders of the
 * account. */
bool process_as_account(const struct instance *in, bool (*work)(const struct instance *in, struct err *e), struct err *e);

/* Wait until ready(in, arg) returns true. Returns false if process `pid` (0: unknown) ends or `seconds` pass first, and prints
 * the end of log/NAME.log on standard error. */
bool process_await(const struct instance *in, const char *name, pid_t pid, int seconds,
		   bool (*ready)(const struct instance *in, const void *arg), const void *arg, struct err *e);

/* A daemon that `rota up` starts. */
struct process_part {
	const char *what; /* name of the daemon in messages */
	const char *log;  /* the daemon writes to log/LOG.log */
	const char *const *argv;
	const char *account;					   /* account of the daemon; NULL: the account of the instance */
	pid_t (*find)(const struct instance *in, const void *arg); /* returns the pid of the daemon, 0 if it does not run */
	bool (*ready)(const struct instance *in, const void *arg); /* returns true once the daemon is ready */
	bool (*prepare)(const struct instance *in, struct err *e); /* called before the daemon is started; may be NULL */
	const void *arg;					   /* argument of find() and ready() */
	int seconds;						   /* seconds that the daemon may take to become ready */
};

/* Make sure that a daemon runs and is ready. Start the daemon if it does not run, or if it ends during the wait. */
bool process_have(const struct instance *in, const struct process_part *part, struct err *e);

/* End process `pid` with `signal`, and after `seconds` with SIGKILL. `alive` returns the pid of the daemon while the daemon
 * holds its lock. Returns false if the process does not end. */
bool process_end(const struct instance *in, pid_t pid, int signal, int seconds,
		 pid_t (*alive)(const struct instance *in, const void *arg), const void *arg);

/* Print the last lines of log/NAME.log on standard error. */
void process_log_tail(const struct instance *in, const char *name);

/* Sleep between two polls. */
void process_rest(int milliseconds);

#endif
