/* node_request.h - a request about the power or the reboot of nodes. */
#ifndef ROTA_ADMIN_NODE_REQUEST_H
#define ROTA_ADMIN_NODE_REQUEST_H

#include <jansson.h>
#include <stdbool.h>

/* Properties in which the requests of `rota admin power` and `rota admin node reboot` differ. */
struct node_request {
	const char *call;			    /* name of the call of the HTTP API */
	const char *rows;			    /* name of the list in the answer to the action "list" */
	const char *(*outcome)(const json_t *node); /* returns, in words, the outcome of the request for a node */
	void (*print)(const json_t *rows);	    /* prints the rows of a list */
};

/* Send a request with an action, such as "list", the names of nodes unless `nodes` is NULL, and further values unless `values` is NULL.
 * Print the answer. Returns the exit status. */
int node_request_send(const struct node_request *r, const char *action, const char *nodes, json_t *values, bool json);

#endif
