/* substep_drain.h - moves what tasks write from their pipes to their spools. */
#ifndef ROTA_PROCMGR_SUBSTEP_DRAIN_H
#define ROTA_PROCMGR_SUBSTEP_DRAIN_H

#include "procmgr/stepmgr/substep.h"

/* Make the pipe of a stream of a task. Returns the descriptor for the task, -1 on an error. */
int substep_drain_open(struct substep_engine *m, struct substep_task *t, int stream, struct err *e);

/* Put the pipes of a task into the store, before it starts. */
void substep_drain_store(struct substep_task *t);

/* Make the spool of a stream, unless it is there. Returns false if that is not possible now. */
bool substep_drain_make_spool(struct substep_task *t, int stream);

/* Go on with what a message of the store has (substep_store.h); the function takes the descriptors. */
void substep_drain_adopt(struct substep_engine *m, struct substep_task *t, int what, const int fds[2]);

/* The task has ended: take what its pipes have, and close them. */
void substep_drain_finish(struct substep_task *t);

#endif
