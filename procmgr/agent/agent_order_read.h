/* agent_order_read.h - one order, as the agent keeps it until it is done. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_READ_H
#define ROTA_PROCMGR_AGENT_ORDER_READ_H

#include "lib/db.h"
#include "procmgr/agent/agent_context.h"
#include "procmgr/agent/agent_predispatch.h"

enum agent_order_state {
	AGENT_ORDER_WAITING,  /* for a file, for free CPUs, for an earlier order of the same attempt, or for a busy keeper */
	AGENT_ORDER_SENT,     /* to the launcher; the answer is awaited: of a launch in the journal, of others on the socket */
	AGENT_ORDER_DONE,     /* and not reported to the database yet */
	AGENT_ORDER_REPORTED, /* in the report that is under way */
};

/* One attempt that an order is for. */
struct agent_start {
	int step_id, node;
	bool sent; /* to the launcher */
	bool answered;
};

/* An order. Orders of the database that say the same to several nodes are one. */
struct agent_order {
	int64_t id;   /* the lowest of `ids` */
	int64_t *ids; /* in the database, rising */
	int id_count;
	struct record_key key; /* of the first attempt */
	bool is_launch;
	enum agent_order_state state;
	struct agent_start *starts; /* by step and node: several steps or several nodes; the attempts have one number */
	int start_count;
	int unanswered; /* of a launch: attempts; of others: messages to the launcher */
	int64_t sent_at;

	/* Of a launch. */
	char *body, *signature;
	char script[65], environment[65]; /* hashes of the files that it needs, "" where the body cannot be read */
	const char *lacks;	  /* "script", "environment": not in the database; "room": not to be stored; NULL: nothing */
	int sample_s;		  /* seconds between samples, 0 = none */
	int first_task, tasks;	  /* that run on this node */
	bool has_devices;	  /* it holds generic resources */
	struct agent_array array; /* if its elements are pre-dispatched */
	int64_t received_at;

	/* Of all others. */
	char *kind, *args;
	bool is_delay_logged; /* its keeper could not take it */
};

/* The order's ids in the database, and nothing else yet. */
struct agent_order agent_order_read_ids(const PGresult *result, int row);

/* All the rest. An order that cannot be read is kept too: the launcher refuses it. */
void agent_order_read(const struct agent_context *c, struct agent_order *o, const PGresult *result, int row);
void agent_order_clear(struct agent_order *o);

struct record_key agent_order_key(const struct agent_order *o, const struct agent_start *start);
int agent_order_compare_starts(const void *a, const void *b); /* by step, then by node */

#endif
