/* keeper.h - the process that stays with one step attempt on one node from prolog to epilog. */
#ifndef ROTA_PROCMGR_KEEPER_H
#define ROTA_PROCMGR_KEEPER_H

#include "lib/conf.h"
#include "lib/order.h"
#include "procmgr/keeper/fence.h"
#include "procmgr/record/record.h"

struct keeper_job {
	const struct conf *conf;
	const char *dir;	   /* the node's folder, absolute; also the working directory, to which all other paths relate */
	struct journal *journal;   /* open for writing */
	const struct fence *fence; /* NULL: there are no control groups */
	const struct order *order;
	const char *cores; /* to pin it to, "0,3"; NULL: anywhere */
	int ctl;	   /* the bound datagram socket on which control messages arrive */
	int spare;	   /* where the launcher hears that keeper and folder are free for another attempt */
	pid_t launcher;	   /* who gives it that; 0: the keeper ends with the attempt */
};

/* What a keeper says by `spare`: its folder is spare/<key> now. */
struct keeper_spare {
	pid_t pid;
	struct record_key key;
};

enum { KEEPER_ORDER_LARGEST = 144 * 1024 }; /* of the message `launch` to a keeper that is free */

/* Become the keeper: called in a freshly forked child of the launcher, never returns. Needs nothing of its parent from here on.
 */
void keeper_run(const struct keeper_job *job) __attribute__((noreturn));

/* Journal space in bytes that all records of an attempt take at most. */
int64_t keeper_record_room(const struct order *order);

/* keeper_dry.c: a keeper's records without a keeper, nothing being run. */
struct keeper_dry;

/* Begin the attempt; NULL where it is over already, else it waits for a control message. */
struct keeper_dry *keeper_dry_start(const struct order *o, const struct record_key *key, struct journal *journal);

/* What a checked control message does to one that waits; true when that ended it: it is freed. */
bool keeper_dry_control(struct keeper_dry *d, const struct fields *message);

#endif
