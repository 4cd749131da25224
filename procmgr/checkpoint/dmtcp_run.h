/* dmtcp_run.h - runs programs of DMTCP, for a bounded time. */
#ifndef ROTA_DMTCP_RUN_H
#define ROTA_DMTCP_RUN_H

#include <stddef.h>

/* The text of a whole number. */
enum { DMTCP_NUMBER_SIZE = 16 };

/* Run a program for at most `seconds`, and put what it prints into `text`, cut at `size`. Returns its exit code; -1 if it did not end by
 * itself. */
int dmtcp_run(char *const *argv, int seconds, char *text, size_t size);
/* The same for `dmtcp_command COMMAND`, of the folder `programs`, at the coordinator with this port. */
int dmtcp_run_command(const char *programs, int port, const char *command, int seconds, char *text, size_t size);

#endif
