/* evacuate_admin.c - `rota admin node evacuate`: drains nodes and has their steps moved to other nodes.
 *
 * Called by: `rota admin`.
 * Invariants:
 * - A first request asks for the plan, which is printed. A second request carries out the evacuation, by the state that the cluster has
 *   then; its answer may differ from the plan. */
#include "bin/rota/admin/evacuate_admin.h"

#include <stdio.h>
#include <stdlib.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/evacuation.h"
#include "lib/err.h"

static json_t *request_make(const char *action, const char *nodes, json_t *values)
{
	json_t *request = json_pack("{ss}", "action", action);

	if (values)
		json_object_update(request, values);
	if (nodes)
		json_object_set_new(request, "nodes", json_string(nodes));
	return request;
}

int evacuate_admin_run(const char *nodes, json_t *values, bool json)
{
	bool dry = json_is_true(json_object_get(values, "dry_run"));
	json_t *request = request_make("evacuate", nodes, values), *answer;

	if (!json) {
		json_object_set_new(request, "dry_run", json_true());
		answer = call_gate("evacuate", request);
		if (!answer)
			return call_status();
		evacuation_print_plan(answer);
		json_decref(answer);
		if (dry)
			return EXIT_OK;
		fflush(stdout);
		request = request_make("evacuate", nodes, values);
	}
	answer = call_gate("evacuate", request);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		printf("evacuation %lld of %s: \"rota admin node evacuations\" shows how far it is\n",
		       json_integer_value(json_object_get(answer, "evacuation")), nodes);
	json_decref(answer);
	return EXIT_OK;
}

int evacuate_admin_list(const char *nodes, bool json)
{
	json_t *answer = call_gate("evacuate", request_make("list", nodes, NULL));

	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		evacuation_print_list(json_object_get(answer, "evacuations"));
	json_decref(answer);
	return EXIT_OK;
}

int evacuate_admin_cancel(const char *number, bool json)
{
	json_t *request = json_pack("{ss ss}", "action", "cancel", "evacuation", number),
	       *answer = call_gate("evacuate", request);

	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		printf("evacuation %s: %s\n", number,
		       json_is_true(json_object_get(answer, "changed")) ? "cancelled" : "nothing to change, it is over");
	json_decref(answer);
	return EXIT_OK;
}
