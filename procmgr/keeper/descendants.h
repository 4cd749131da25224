/* descendants.h - finds and signals processes with all their descendants, in any session. */
#ifndef ROTA_PROCMGR_DESCENDANTS_H
#define ROTA_PROCMGR_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DESCENDANTS_OF_ANY_USER ((uid_t)-1)

struct descendants_process {
	pid_t pid, parent;
	pid_t thread; /* a thread that has not ended: the kernel shows the memory of the process by no other */
	uid_t uid;
	int64_t resident_kb; /* resident anonymous and shared memory; a shared page counts in each process */
};

/* Is the process a root, whose descendants are wanted? The function is never called for the caller's own process. */
typedef bool descendants_root(const struct descendants_process *p, void *arg);

/* A root that is a child of the caller. */
descendants_root descendants_is_child;

/* Call `each` for the roots and all their descendants that run as the user `only`. */
void descendants_each(descendants_root *root, void *arg, uid_t only, void (*each)(const struct descendants_process *p, void *sum),
		      void *sum);

/* Returns true if is_it() returns true for some thread of these processes, or if the kernel does not list the threads of one. */
bool descendants_have_thread(descendants_root *root, void *arg, uid_t only, bool (*is_it)(pid_t thread, const void *data),
			     const void *data);

/* Send a signal to the roots and all their descendants that run as the user `only`, except to the process `but`. Signal 0 only
 * counts. Returns the number of processes. */
int descendants_signal(descendants_root *root, void *arg, uid_t only, int signal, pid_t but);

/* Signal only those descendants that handle the signal. Returns their number. */
int descendants_signal_handlers(descendants_root *root, void *arg, uid_t only, int signal, pid_t but);

/* Kill the roots and all their descendants that run as the user `only`, so that no fork escapes. Returns false if there was no
 * process. */
bool descendants_kill(descendants_root *root, void *arg, uid_t only);

#endif
