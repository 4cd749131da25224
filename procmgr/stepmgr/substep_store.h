/* substep_store.h - keeps the spools of tasks open while the step manager is dead. */
#ifndef ROTA_PROCMGR_SUBSTEP_STORE_H
#define ROTA_PROCMGR_SUBSTEP_STORE_H

#include <stdbool.h>

#include "procmgr/stepmgr/substep.h"

/* A spool in the store: that of a stream of a task in one run of a sub-step. */
struct substep_stored {
	int number, run, rank, stream;
};

/* Use a socket pair of which the keeper holds both ends (procmgr/keeper/keeper_manager.c). */
void substep_store_open(int in, int out);

/* Put a spool into the store. If the store is full, what is_needed() denies is taken out of it first. */
void substep_store_put(const struct substep_stored *stored, int fd,
		       bool (*is_needed)(const struct substep_stored *stored, void *arg), void *arg);

/* Take all spools out of the store. `take` owns the descriptor; it returns true to have a copy of it stay in the store. */
void substep_store_take(bool (*take)(const struct substep_stored *stored, int fd, void *arg), void *arg);

#endif
