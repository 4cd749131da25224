/* agent_node.h - the nodes that one procmgrd serves, as the database has them. */
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

void agent_node_set(struct agent_nodes *n, const PGresult *result); /* the answer of node_register */
void agent_node_clear(struct agent_nodes *n);			    /* the connection is lost: none is registered */
int agent_node_count(const struct agent_nodes *n);		    /* 0: not registered on this connection */
bool agent_node_has_all(const struct agent_nodes *n);		    /* every node of this procmgrd is registered */
int agent_node_orphans(
	const struct agent_nodes *n); /* attempts on these nodes that the database has given up and that still run */
int64_t agent_node_first_id(const struct agent_nodes *n); /* the lowest id; its NOTIFY channels serve all nodes */
int64_t agent_node_own_id(const struct agent_nodes *n);	  /* the id of the real node */
int64_t agent_node_id(const struct agent_nodes *n, const struct fields *record); /* the node of a record; 0: unknown */
int agent_node_number(const struct agent_nodes *n, int64_t id);			 /* 0: the real node; from 1: a virtual one */
struct db_array *agent_node_array(const struct agent_nodes *n);			 /* all ids; free with db_array_free */

/* Replace the real node in the facts of node_register by the virtual nodes, which have the same facts. */
void agent_node_add_virtual(const struct agent_nodes *n, json_t *facts);

#endif
