/* terminal.h - runs one command on a pty, to which clients can attach at any time. */
#ifndef ROTA_PROCMGR_TERMINAL_H
#define ROTA_PROCMGR_TERMINAL_H

struct terminal_options {
	const char *name; /* name of the abstract Unix socket at which clients attach */
	int rows, cols;
	char **argv; /* the command */
};

/* Run the command. Returns its exit code, 126 or 127 if it could not be executed, and 1 on another error. If a signal ended the
 * command, the same signal ends this process. */
int terminal_run(const struct terminal_options *options);

#endif
