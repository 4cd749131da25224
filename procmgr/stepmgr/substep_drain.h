/* substep_drain.h - moves what tasks write from their pipes to their spools. */
#ifndef ROTA_PROCMGR_SUBSTEP_DRAIN_H
#define ROTA_PROCMGR_SUBSTEP_DRAIN_H

#include "procmgr/stepmgr/substep.h"
#include "procmgr/stepmgr/substep_store.h"

/* Make the pipe of a stream of a task. Returns the descriptor for the task, -1 on an error. */
int substep_drain_open(struct substep_engine *m, struct substep_task *t, int stream, struct err *e);

/* Put the pipes and spools of a task into the store: before it starts, and with each new spool. */
void substep_drain_store(struct substep_task *t);

/* Make the spool of a stream, unless it is there. Returns false if that is not possible now. */
bool substep_drain_make_spool(struct substep_task *t, int stream);

/* Go on with files of the store (substep_store.h); the function takes the descriptors. A later message on the task replaces an earlier one. */
void substep_drain_adopt(struct substep_engine *m, struct substep_task *t, int files, const int fds[SUBSTEP_STORED_MOST]);

/* After the end of a task: read the rest of its pipes, and close them. */
void substep_drain_finish(struct substep_task *t);

#endif
