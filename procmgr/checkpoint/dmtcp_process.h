/* dmtcp_process.h - programs and processes that DMTCP cannot save. */
#ifndef ROTA_DMTCP_PROCESS_H
#define ROTA_DMTCP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Can DMTCP save the program of this path? It does not reach static programs, nor those with the setuid bit, and runs them without a word. */
bool dmtcp_process_can_save(const char *path, struct err *e);
/* Is each process of the step in a list of dmtcp_command? `root`: the first of them, whose parent is the keeper, which is also that of processes whose
 * parents have ended. Programs of Rota and the coordinator are left out. With an error that names the first that is not. */
bool dmtcp_process_all_listed(pid_t root, const char *list, const char *coordinator, struct err *e);

#endif
