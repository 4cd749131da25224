/* keeper.h - the process that runs one step attempt on one node, from prolog to epilog. */
#ifndef ROTA_PROCMGR_KEEPER_H
#define ROTA_PROCMGR_KEEPER_H

#include "lib/box.h"
#include "lib/conf.h"
#include "lib/order.h"
#include "procmgr/keeper/cgroups.h"
#include "procmgr/record/record.h"

/* Keys with which boxes for this node are opened. */
struct keeper_keys {
	struct box_key *node;	      /* private key of the node */
	unsigned char credd[BOX_KEY]; /* public key of rota-credd */
};

struct keeper_job {
	const struct conf *conf;
	/* The node's folder, as an absolute path. It is the working directory, and all other paths are relative to it. */
	const char *dir;
	struct journal *journal;       /* the node's journal, open for writing */
	const struct cgroups *cgroups; /* NULL if the machine has no cgroups */
	const struct order *order;
	const char *cores; /* cores to which the attempt is pinned, such as "0,3"; NULL for any core */
	int ctl;	   /* the bound datagram socket on which control messages arrive */
	int idle;	   /* socket on which the keeper reports to the launcher that it is idle */
	/* Pid of the launcher if it may give the keeper another attempt; 0 if the keeper ends with its attempt. */
	pid_t launcher;
	const struct keeper_keys *keys; /* this node's keys for credentials; NULL: the node has none */
};

/* The message by which a keeper reports that it is idle and that its folder is now spare/<key>. */
struct keeper_idle {
	pid_t pid;
	struct record_key key;
};

enum { KEEPER_ORDER_LARGEST = 144 * 1024 }; /* largest message with a launch request to an idle keeper, in bytes */

/* Become the keeper of an attempt. The launcher calls this function in a freshly forked child; it never returns. From then on the
 * keeper does not need the launcher. */
void keeper_run(const struct keeper_job *job) __attribute__((noreturn));

/* Returns the most bytes that all records of an attempt can take in the journal. */
int64_t keeper_record_space(const struct order *order);

/* keeper_dry.c: an attempt of a dry run, which writes a keeper's records but runs no process. */
struct keeper_dry;

/* Start an attempt of a dry run. Returns NULL if the attempt has already ended; otherwise it waits for a control message. */
struct keeper_dry *keeper_dry_start(const struct order *o, const struct record_key *key, struct journal *journal);

/* Apply a checked control message to a waiting attempt of a dry run. Returns true if the attempt has ended and is freed. */
bool keeper_dry_control(struct keeper_dry *d, const struct fields *message);

#endif
