/* pty.h - runs a command on a pty. */
#ifndef ROTA_PROCMGR_PTY_H
#define ROTA_PROCMGR_PTY_H

#include <sys/types.h>

#include "lib/err.h"

struct pty {
	int master;
	int slave; /* kept open, so that reading the master gives no error after the command has closed its streams */
	pid_t pid;
};

/* Start a command as the leader of a session whose controlling terminal is the pty. On an error *failure is the errno of
 * execvp(), or 0 if an earlier call failed. */
bool pty_start(struct pty *p, char **argv, int rows, int cols, int *failure, struct err *e);

void pty_resize(const struct pty *p, int rows, int cols);

/* Send a signal to the pty's foreground process group and to the command. */
void pty_signal(const struct pty *p, int signal);

/* End this process by a signal, without a core file. Returns only if the signal does not end processes. */
void pty_end_by(int signal);

#endif
