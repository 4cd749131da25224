/* below.h - processes and all that stand below them, in whichever session. */
#ifndef ROTA_PROCMGR_BELOW_H
#define ROTA_PROCMGR_BELOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BELOW_ANYBODY ((uid_t)-1)

struct below_process {
	pid_t pid, parent;
	uid_t uid;
	int64_t resident_kb; /* anonymous and shared memory; shared pages count in each process */
};

/* Does what is to be signalled begin with this process? The caller's own process is never asked about. */
typedef bool below_root(const struct below_process *p, void *arg);

/* Call `each` for the roots and all below them, of that user only. */
void below_each(below_root *root, void *arg, uid_t only, void (*each)(const struct below_process *p, void *sum), void *sum);

/* Send a signal (0: only count) to the roots and all below them, of that user only; returns how many. */
int below_signal(below_root *root, void *arg, uid_t only, int signal);

/* Kill them so that nothing can outrun it by forking; false where there was nobody. */
bool below_kill(below_root *root, void *arg, uid_t only);

#endif
