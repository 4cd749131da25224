/* substep_nodes.h - the other nodes of the step and of its growths, on each of which an agent runs parts of sub-steps. */
#ifndef ROTA_PROCMGR_SUBSTEP_NODES_H
#define ROTA_PROCMGR_SUBSTEP_NODES_H

#include "procmgr/stepmgr/substep_engine.h"

struct substep_nodes;

struct substep_nodes_handlers {
	void (*changed)(struct substep_engine *m); /* the agent of a node has connected, for the first time or again */
	/* An agent has sent an event about a part that has not ended (docs/step-protocol.md). */
	void (*event)(struct substep *s, struct substep_part *part, const char *name, const json_t *event, const void *bytes,
		      size_t size);
	void (*lost)(struct substep *s, struct substep_part *part); /* the node of a part that has not ended has gone */
	/* The agent of a node has answered how much its sub-steps use. */
	void (*usage)(struct substep_engine *m, int node, const json_t *answer);
};

/* Make the object with the nodes of $ROTA_NODELIST but the first. Returns NULL if this process is an agent. */
struct substep_nodes *substep_nodes_new(struct substep_engine *m, struct event_base *base,
					const struct substep_nodes_handlers *handlers);
void substep_nodes_free(struct substep_nodes *n);	/* call when no sub-step is left; `n` may be NULL */
int substep_nodes_count(const struct substep_nodes *n); /* `n` may be NULL */
const char *substep_nodes_name(const struct substep_nodes *n, int index);
/* Returns the resources of a node that sub-steps may use, NULL while its agent has never been connected. */
struct substep_pool *substep_nodes_pool(const struct substep_nodes *n, int index);
bool substep_nodes_is_connected(const struct substep_nodes *n, int index);
/* Returns the growth that has the node, "812.0.1"; NULL: the node is one of the step itself. */
const char *substep_nodes_growth(const struct substep_nodes *n, int index);
bool substep_nodes_is_same_growth(const struct substep_nodes *n, int index, int other); /* do both nodes belong to one growth? */
bool substep_nodes_is_here(const struct substep_nodes *n, int index);			/* may sub-steps start there? */
bool substep_nodes_is_gone(const struct substep_nodes *n, int index);
bool substep_nodes_gave_back(const struct substep_nodes *n); /* was a node of the step itself given back? `n` may be NULL */
/* Was the node with this name, one of the step itself and not of a growth, given back? */
bool substep_nodes_is_given_back(const struct substep_nodes *n, const char *name);
/* Returns the index of the node `name` that `growth` has or, if `growth` is NULL, that is one of the step itself, whether the
 * node has gone or not. Returns -1 if there was never such a node. */
int substep_nodes_find(const struct substep_nodes *n, const char *growth, const char *name);

/* Close the connection to the agent of a node. The agent can connect again unless the node is lost or does not belong to the
 * step. */
void substep_nodes_disconnect(struct substep_nodes *n, int index);

/* Write a record by which procmgrd and the database have the agents of all nodes of the step started, if they were not called
 * before. The handler `changed` is called when an agent has connected. */
void substep_nodes_call(struct substep_nodes *n);
/* Add a node of a growth, and have its agent started. */
void substep_nodes_grow(struct substep_nodes *n, const char *growth, const char *name);
/* Start nothing more on a node that is being given back. */
void substep_nodes_leave(struct substep_nodes *n, int index);
/* Call when a node has gone: the parts of sub-steps on it are lost. Returns false if the node had gone before. */
bool substep_nodes_drop(struct substep_nodes *n, int index);

/* Apply a record `call` or `grow` of an earlier step manager; after all of them, listen at the port where it listened. */
void substep_nodes_replay(struct substep_nodes *n, const json_t *call);
void substep_nodes_replay_grow(struct substep_nodes *n, const json_t *record);
void substep_nodes_recover(struct substep_nodes *n);

/* Ask the agent to run a part. The agent is asked once more when it connects again, but runs the part only once. */
void substep_nodes_start(struct substep_nodes *n, const struct substep *s, struct substep_part *part);
/* Send the agent of a node a request, which the function takes, and bytes. Nothing is sent while the agent is not connected. */
void substep_nodes_send(struct substep_nodes *n, int index, json_t *request, const void *bytes, size_t size);
/* Send a signal to all processes of a part. */
void substep_nodes_signal(struct substep_nodes *n, const struct substep_part *part, int signal);

/* Ask the agent of a node how much its sub-steps use now. */
void substep_nodes_ask_usage(struct substep_nodes *n, int index);

/* Describe the nodes as substep_pool_json does, at the end of `list`; by the name only if the agent has never been connected. */
void substep_nodes_describe(const struct substep_nodes *n, json_t *list);

#endif
