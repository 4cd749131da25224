/* substep_store.h - keeps the spools and pipes of tasks open while the step manager is dead. */
#ifndef ROTA_PROCMGR_SUBSTEP_STORE_H
#define ROTA_PROCMGR_SUBSTEP_STORE_H

#include <stdbool.h>

#include "procmgr/stepmgr/substep.h"

/* What is in the store: spool and pipe of a stream of a task in one run of a sub-step. */
struct substep_stored {
	int number, run, rank, stream;
};

/* Use a socket pair of which the keeper holds both ends (procmgr/keeper/keeper_manager.c). */
void substep_store_open(int in, int out);

/* Put a spool and its pipe (-1: there is none) into the store. If the store is full, what is_needed() denies is taken out of it first. */
void substep_store_put(const struct substep_stored *stored, const int fds[2],
		       bool (*is_needed)(const struct substep_stored *stored, void *arg), void *arg);

/* Take all out of the store. `take` owns the descriptors; it returns true to have copies of them stay in the store. */
void substep_store_take(bool (*take)(const struct substep_stored *stored, const int fds[2], void *arg), void *arg);

#endif
