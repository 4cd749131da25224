/* dmtcp_process.h - programs and processes that DMTCP cannot save. */
#ifndef ROTA_DMTCP_PROCESS_H
#define ROTA_DMTCP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Can DMTCP save the program of this path? It does not reach static programs, nor those with the setuid bit, and runs them without a word. */
bool dmtcp_process_can_save(const char *path, struct err *e);
/* Is each process below `root`, and root itself, in a list of dmtcp_command? With an error that names the first that is not. */
bool dmtcp_process_all_listed(pid_t root, const char *list, struct err *e);

#endif
