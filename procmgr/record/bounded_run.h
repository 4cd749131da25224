/* bounded_run.h - runs a program for a bounded time. */
#ifndef ROTA_PROCMGR_RECORD_BOUNDED_RUN_H
#define ROTA_PROCMGR_RECORD_BOUNDED_RUN_H

#include <stddef.h>

/* Run a program for at most `seconds`, and put what it prints into `text`, cut at `size`. Returns its exit code; -1 if it did not end by
 * itself. */
int bounded_run(char *const *argv, int seconds, char *text, size_t size);

#endif
