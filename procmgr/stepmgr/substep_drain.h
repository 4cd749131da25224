/* substep_drain.h - moves what tasks write from their pipes to their spools. */
#ifndef ROTA_PROCMGR_SUBSTEP_DRAIN_H
#define ROTA_PROCMGR_SUBSTEP_DRAIN_H

#include "procmgr/stepmgr/substep.h"
#include "procmgr/stepmgr/substep_store.h"

/* Make the pipe of a stream of a task. Returns the descriptor for the task, -1 on an error. */
int substep_drain_open(struct substep_engine *m, struct substep_task *t, int stream, struct err *e);

/* Put the pipes and spools of a task into the store: before it starts, and with each new spool. */
void substep_drain_store(struct substep_task *t);

/* Make the spool of a stream, unless the stream has one. Returns false if no spool can be made now. */
bool substep_drain_make_spool(struct substep_task *t, int stream);

/* Use pipes and spools of a task from the store (substep_store.h); takes the descriptors. Call for each message of the store on
 * the task: a later one replaces an earlier one. */
void substep_drain_adopt(struct substep_engine *m, struct substep_task *t, int files, const int fds[SUBSTEP_STORED_MOST]);

/* After the end of a task: read the rest of its pipes, and close them. */
void substep_drain_finish(struct substep_task *t);

#endif
