/* keeper.h - the process that stays with one step attempt on one node from prolog to epilog. */
#ifndef ROTA_PROCMGR_KEEPER_H
#define ROTA_PROCMGR_KEEPER_H

#include "lib/conf.h"
#include "lib/order.h"
#include "procmgr/keeper/fence.h"

struct keeper_job {
	const struct conf *conf;
	const char *dir;	   /* the node's folder, absolute; also the working directory, to which all other paths relate */
	const struct fence *fence; /* NULL: there are no control groups */
	const struct order *order;
	const char *cores; /* to pin it to, "0,3"; NULL: anywhere */
	int ctl;	   /* the bound datagram socket on which control messages arrive */
};

/* Become the keeper: called in a freshly forked child of the launcher, never returns. Needs nothing of its parent from here on.
 */
void keeper_run(const struct keeper_job *job) __attribute__((noreturn));

#endif
