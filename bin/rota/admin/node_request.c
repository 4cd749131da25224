/* node_request.c - sends a request about the power or the reboot of nodes, and prints the outcome for each node.
 *
 * Called by: power_admin.c and reboot_admin.c. */
#include "bin/rota/admin/node_request.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "lib/err.h"

static void nodes_print(const struct node_request *r, const json_t *nodes)
{
	const json_t *node;
	size_t i;

	json_array_foreach (nodes, i, node)
		printf("node %s: %s%s\n", format_text(node, "node"),
		       json_is_true(json_object_get(node, "changed")) ? "" : "nothing to change, it is ", r->outcome(node));
}

int node_request_send(const struct node_request *r, const char *action, const char *nodes, json_t *values, bool json)
{
	json_t *request = json_pack("{ss}", "action", action), *answer;
	struct err e = {0};

	if (values)
		json_object_update(request, values);
	if (nodes && json_object_set_new(request, "nodes", json_string(nodes))) {
		json_decref(request);
		err_set(&e, "the names of the nodes are not UTF-8");
		return call_refuse(&e);
	}
	answer = call_gate(r->call, request);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else if (strcmp(action, "list"))
		nodes_print(r, json_object_get(answer, "nodes"));
	else
		r->print(json_object_get(answer, r->rows));
	json_decref(answer);
	return EXIT_OK;
}
