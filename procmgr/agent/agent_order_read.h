/* agent_order_read.h - an order of the database, as the agent keeps it until the order is done. */
#ifndef ROTA_PROCMGR_AGENT_ORDER_READ_H
#define ROTA_PROCMGR_AGENT_ORDER_READ_H

#include <jansson.h>

#include "lib/db.h"
#include "procmgr/agent/agent_context.h"
#include "procmgr/agent/agent_predispatch.h"

enum agent_order_state {
	/* The order waits for a file, for free CPUs, for an earlier order of the same attempt, or for a busy keeper. */
	AGENT_ORDER_WAITING,
	/* The order was sent to the launcher. A launch request is answered in the journal, a control message on the socket. */
	AGENT_ORDER_SENT,
	AGENT_ORDER_DONE,     /* the order is done but not reported to the database yet */
	AGENT_ORDER_REPORTED, /* the order is in the report that is under way */
};

/* One of the attempts that an order is for. */
struct agent_start {
	int step_id, node;
	bool sent; /* the order was sent to the launcher for this attempt */
	bool answered;
};

/* An order. Equal orders of the database to several nodes of this agent are kept as one order. */
struct agent_order {
	int64_t id;   /* the lowest number in `ids` */
	int64_t *ids; /* ids of the orders in the database, ascending */
	int id_count;
	struct record_key key; /* the first attempt that the order is for */
	bool is_launch;
	enum agent_order_state state;
	/* Sorted by step and node. Either the steps or the nodes differ; the attempt number is the same in all. */
	struct agent_start *starts;
	int start_count;
	int unanswered; /* unanswered attempts of a launch request, or unanswered control messages */
	int64_t sent_at;

	/* Fields of launch requests only. */
	char *signature;
	char script[65], environment[65]; /* Hashes of the files that the attempt needs; "" if the body cannot be read. */
	/* Why files are missing: the database lacks the "script" or "environment", or there is no "room" in the cache. NULL: none
	 * is missing. */
	const char *lacks;
	int sample_s;	       /* seconds between samples; 0 disables sampling */
	int first_task, tasks; /* tasks that run on this node */
	bool has_devices;      /* the attempt holds generic resources */
	char *credentials;     /* names of the credentials that the step needs, as in its spec; NULL: none */
	json_t *boxes; /* boxes (sealed credentials) that came with the order, until they are in the cache (agent_credential.c); NULL: none */
	int64_t credential_call;  /* number of the database call that asks for the boxes (agent_credential.c); 0: none was made */
	struct agent_array array; /* the array of a pre-dispatched launch request; its `last` is 0 in all others */
	/* The attempt on this node that has to complete before a step that was sent ahead starts. Attempt 0: the step waits for
	 * none. */
	struct record_key after;
	int hold_s; /* seconds beyond PREDISPATCH_USEC that pre-dispatched elements may wait on the node (agent_order_launch.c) */
	int64_t received_at;

	char *body; /* text of a launch request; of an order `agent`, the key */
	/* Fields of control messages only. */
	char *kind, *args;
	bool is_delay_logged; /* the delay by a busy keeper has been logged */
};

/* Read only the kind and the database ids of an order from a row. */
struct agent_order agent_order_read_ids(const PGresult *result, int row);

/* Read the rest of an order from a row. A launch request that cannot be parsed is kept, so that the launcher refuses it. */
void agent_order_read(const struct agent_context *c, struct agent_order *o, const PGresult *result, int row);
void agent_order_clear(struct agent_order *o);

void agent_order_set_sent(struct agent_order *o);

struct record_key agent_order_key(const struct agent_order *o, const struct agent_start *start);
/* Does the order hold work that begins later, without another order: elements of an array, or a step that was sent ahead? */
bool agent_order_is_held(const struct agent_order *o);
/* Returns the attempt's entry in an order, or NULL if the order is for other attempts. */
struct agent_start *agent_order_find_start(const struct agent_order *o, const struct record_key *key);
/* Take the attempts of a launch request that are not sent yet and that order `by` names: they count as sent, and are copied to
 * `taken`, which has room for all. Returns their number; *left is the number of those that are still not sent. */
int agent_order_take_unsent(struct agent_order *launch, const struct agent_order *by, struct agent_start *taken, int *left);

#endif
