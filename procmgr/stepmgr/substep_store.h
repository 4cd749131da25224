/* substep_store.h - keeps the spools and pipes of tasks open while the step manager is dead. */
#ifndef ROTA_PROCMGR_SUBSTEP_STORE_H
#define ROTA_PROCMGR_SUBSTEP_STORE_H

#include <stdbool.h>

#include "procmgr/stepmgr/substep.h"

/* Files of a task: the pipe of each stream, then the spool of each stream. */
enum { SUBSTEP_STORED_SPOOLS = SUBSTEP_STREAMS, SUBSTEP_STORED_MOST = 2 * SUBSTEP_STREAMS };

/* The stored files of one task in one run of a sub-step: bit N of `files` is set if the store has file N. */
struct substep_stored {
	int number, run, rank, files;
};

/* Use a socket pair as the store: `in` and `out` are its ends, both of which the keeper holds open too. */
void substep_store_open(int in, int out);

/* Put the files of `stored` into the store; fds[N] is file N. If the store is full, first remove the entries for which
 * is_needed() returns false. */
void substep_store_put(const struct substep_stored *stored, const int fds[SUBSTEP_STORED_MOST],
		       bool (*is_needed)(const struct substep_stored *stored, void *arg), void *arg);

/* Take all messages out of the store, the oldest first, and call `take` for each; fds[N] is file N, or -1. `take` owns the
 * descriptors. It returns true to have copies of them stay in the store. */
void substep_store_take(bool (*take)(const struct substep_stored *stored, const int fds[SUBSTEP_STORED_MOST], void *arg),
			void *arg);

#endif
