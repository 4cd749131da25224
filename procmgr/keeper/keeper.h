/* keeper.h - the process that runs one step attempt on one node, from prolog to epilog. */
#ifndef ROTA_PROCMGR_KEEPER_H
#define ROTA_PROCMGR_KEEPER_H

#include "lib/conf.h"
#include "lib/order.h"
#include "procmgr/keeper/cgroups.h"
#include "procmgr/record/record.h"

struct keeper_job {
	const struct conf *conf;
	const char *dir; /* the node's folder, absolute; it is the working directory, and all other paths are relative to it */
	struct journal *journal;       /* open for writing */
	const struct cgroups *cgroups; /* NULL: there are none */
	const struct order *order;
	const char *cores; /* to pin it to, "0,3"; NULL: any */
	int ctl;	   /* the bound datagram socket on which control messages arrive */
	int idle;	   /* socket on which the keeper says to the launcher that it is idle */
	pid_t launcher;	   /* it may give the keeper another attempt; 0: the keeper ends with its attempt */
};

/* The message of an idle keeper: its folder is spare/<key> now. */
struct keeper_idle {
	pid_t pid;
	struct record_key key;
};

enum { KEEPER_ORDER_LARGEST = 144 * 1024 }; /* of the message with an order to an idle keeper */

/* Become the keeper: called in a freshly forked child of the launcher, never returns. Needs nothing of its parent from then
 * on. */
void keeper_run(const struct keeper_job *job) __attribute__((noreturn));

/* The journal space in bytes that all records of an attempt take at most. */
int64_t keeper_record_space(const struct order *order);

/* keeper_dry.c: writes a keeper's records, but runs nothing. */
struct keeper_dry;

/* Start the attempt; NULL where it has ended already, else it waits for a control message. */
struct keeper_dry *keeper_dry_start(const struct order *o, const struct record_key *key, struct journal *journal);

/* Apply a checked control message to a waiting attempt; true when it has ended and is freed. */
bool keeper_dry_control(struct keeper_dry *d, const struct fields *message);

#endif
