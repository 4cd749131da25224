/* substep_store.h - keeps the spools and pipes of tasks open while the step manager is dead. */
#ifndef ROTA_PROCMGR_SUBSTEP_STORE_H
#define ROTA_PROCMGR_SUBSTEP_STORE_H

#include <stdbool.h>

#include "procmgr/stepmgr/substep.h"

/* What one message of the store has of a task: the spool of a stream (SUBSTEP_OUT, SUBSTEP_ERR), or its pipes. */
enum {
	SUBSTEP_STORED_PIPE_OUT = SUBSTEP_STREAMS, /* of the output alone */
	SUBSTEP_STORED_PIPE_ERR,
	SUBSTEP_STORED_PIPES, /* of output and error, in this order */
};

/* A message of the store, about a task in one run of a sub-step. */
struct substep_stored {
	int number, run, rank, what;
};

/* Use a socket pair of which the keeper holds both ends (procmgr/keeper/keeper_manager.c). */
void substep_store_open(int in, int out);

/* Put one or two descriptors (-1: there is no second one) into the store. If it is full, what is_needed() denies is taken out of it first. */
void substep_store_put(const struct substep_stored *stored, const int fds[2],
		       bool (*is_needed)(const struct substep_stored *stored, void *arg), void *arg);

/* Take all out of the store. `take` owns the descriptors; it returns true to have copies of them stay in the store. */
void substep_store_take(bool (*take)(const struct substep_stored *stored, const int fds[2], void *arg), void *arg);

#endif
