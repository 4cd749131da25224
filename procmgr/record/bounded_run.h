/* bounded_run.h - runs a program for a bounded time. */
#ifndef ROTA_PROCMGR_RECORD_BOUNDED_RUN_H
#define ROTA_PROCMGR_RECORD_BOUNDED_RUN_H

#include <stddef.h>

/* Run a program for at most `seconds`, and put its output into `text`, cut to `size` bytes. Returns its exit code, or a negative number if it
 * has none. A program that does not end in time gets SIGTERM, and SIGKILL some seconds later. */
enum { BOUNDED_RUN_LATE = -1, BOUNDED_RUN_KILLED = -2, BOUNDED_RUN_FAILED = -3 /* the program could not be started */ };
int bounded_run(char *const *argv, int seconds, char *text, size_t size);

#endif
