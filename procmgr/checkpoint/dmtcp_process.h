/* dmtcp_process.h - finds processes that DMTCP cannot save. */
#ifndef ROTA_DMTCP_PROCESS_H
#define ROTA_DMTCP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Keep only the processes of this host in `list`, the output of dmtcp_command for a step on several nodes, whose processes may have equal
 * numbers. `host`: the host's name by uname(2), as DMTCP shows it. */
void dmtcp_process_keep_host(char *list, const char *host);
/* Is the process in `list`, the output of dmtcp_command? */
bool dmtcp_process_is_listed(const char *list, pid_t pid);
/* Is each process of the step in `list`? If not, the error names the first that is not. `root`: the
 * step's first process, a child of the keeper, which is also the parent of processes whose parents have ended. Programs of Rota
 * and the coordinator are not looked for. */
bool dmtcp_process_all_listed(pid_t root, const char *list, const char *coordinator, struct err *e);

#endif
