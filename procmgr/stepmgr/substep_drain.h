/* substep_drain.h - moves what tasks write from their pipes to their spools. */
#ifndef ROTA_PROCMGR_SUBSTEP_DRAIN_H
#define ROTA_PROCMGR_SUBSTEP_DRAIN_H

#include "procmgr/stepmgr/substep.h"

/* Make the spool of a stream of a task, and a pipe that ends in it. Returns the descriptor for the task, -1 on an error. */
int substep_drain_open(struct substep_engine *m, struct substep_task *t, int stream, struct err *e);

/* Make the spool of a stream whose output comes from another node. */
bool substep_drain_receive(struct substep_engine *m, struct substep_task *t, int stream, struct err *e);

/* Go on with the spool and the pipe of an earlier step manager, which the function takes; pipe -1: there is none. Takes what the pipe has. */
void substep_drain_adopt(struct substep_engine *m, struct substep_task *t, int stream, int spool, int pipe);

/* The task has ended: take what its pipes have, and close them. */
void substep_drain_finish(struct substep_task *t);

#endif
