/* agent_node.h - the database's nodes that one procmgrd serves. */
#ifndef ROTA_PROCMGR_AGENT_NODE_H
#define ROTA_PROCMGR_AGENT_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/conf.h"
#include "lib/db.h"
#include "lib/fields.h"

struct agent_nodes;

struct agent_nodes *agent_node_new(const struct conf *conf, const char *name);
void agent_node_free(struct agent_nodes *n);

void agent_node_set(struct agent_nodes *n, const PGresult *result); /* set the nodes from the answer of api.node_register */
void agent_node_clear(struct agent_nodes *n);			    /* after a lost connection, no node counts as registered */
int agent_node_count(const struct agent_nodes *n);		    /* number of nodes registered on the current connection */
bool agent_node_has_all(const struct agent_nodes *n);		    /* is every node of this procmgrd registered? */
/* Returns the number of attempts that still run on the nodes of this procmgrd though the database has ended them. */
int agent_node_orphans(const struct agent_nodes *n);
/* Returns the lowest node id. The NOTIFY channels of that node serve all nodes of this procmgrd. */
int64_t agent_node_first_id(const struct agent_nodes *n);
int64_t agent_node_own_id(const struct agent_nodes *n); /* the id of the real node */
/* Returns the id of the node that a record is about, or 0 if the node is not registered. */
int64_t agent_node_id(const struct agent_nodes *n, const struct fields *record);
/* Returns the number of a virtual node, from 1, or 0 for the real node. */
int agent_node_number(const struct agent_nodes *n, int64_t id);
/* Returns the ids of all registered nodes. Free the array with db_array_free. */
struct db_array *agent_node_array(const struct agent_nodes *n);

/* Replace the real node in the argument of api.node_register by the virtual nodes, with the real node's facts. */
void agent_node_add_virtual(const struct agent_nodes *n, json_t *facts);

#endif
