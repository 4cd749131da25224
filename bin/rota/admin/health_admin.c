/* health_admin.c - `rota admin node health`: what the latest run of each check said about nodes.
 *
 * Called by: `rota admin`. */
#include "bin/rota/admin/health_admin.h"

#include <jansson.h>
#include <stdio.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "lib/err.h"

static void health_print(const json_t *health)
{
	const json_t *one;
	size_t i;

	json_array_foreach (health, i, one) {
		const char *message = format_text(one, "message");

		printf("%-12s %-16s %-9s since %s%s%s\n", format_text(one, "node"), format_text(one, "check"),
		       format_text(one, "state"), format_time(json_object_get(one, "since")).s, *message ? ": " : "", message);
	}
}

int health_admin_run(const char *nodes, bool json)
{
	json_t *request = json_object(), *answer;
	struct err e = {0};

	if (nodes && json_object_set_new(request, "nodes", json_string(nodes))) {
		json_decref(request);
		err_set(&e, "the names of the nodes are not UTF-8");
		return call_refuse(&e);
	}
	answer = call_gate("node_health", request);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		health_print(json_object_get(answer, "health"));
	json_decref(answer);
	return EXIT_OK;
}
