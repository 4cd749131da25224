/* descendants.h - processes and all their descendants, in whichever session. */
#ifndef ROTA_PROCMGR_DESCENDANTS_H
#define ROTA_PROCMGR_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DESCENDANTS_OF_ANY_USER ((uid_t)-1)

struct descendants_process {
	pid_t pid, parent;
	uid_t uid;
	int64_t resident_kb; /* anonymous and shared memory; a shared page counts in each process */
};

/* Is this process a root? The caller's own process is never asked about. */
typedef bool descendants_root(const struct descendants_process *p, void *arg);

/* Call `each` for the roots and all their descendants, of the user `only`. */
void descendants_each(descendants_root *root, void *arg, uid_t only, void (*each)(const struct descendants_process *p, void *sum),
		      void *sum);

/* Send a signal (0: only count) to the roots and all their descendants, of the user `only`; returns how many. */
int descendants_signal(descendants_root *root, void *arg, uid_t only, int signal);

/* Kill them so that no fork escapes; false where there was none. */
bool descendants_kill(descendants_root *root, void *arg, uid_t only);

#endif
