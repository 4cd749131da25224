/* rolling_admin.c - `rota admin node change-all`, `changes` and `cancel-change`: changes of many nodes, some at a time.
 *
 * Called by: `rota admin`. */
#include "bin/rota/admin/rolling_admin.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "lib/err.h"

/* Print how many nodes of a change are in each state, and which have failed. */
static void nodes_print(const json_t *nodes)
{
	static const char *const states[] = {"waiting", "changing", "done", "failed", "cancelled", NULL};
	const char *separator = "    ";
	const json_t *failed = json_object_get(nodes, "failed"), *name;
	size_t i;

	for (const char *const *s = states; *s; s++) {
		size_t count = json_array_size(json_object_get(nodes, *s));

		if (!count)
			continue;
		printf("%s%zu %s", separator, count, *s);
		separator = ", ";
	}
	json_array_foreach (failed, i, name)
		printf("%s%s", i ? ", " : ": ", json_string_value(name));
	putchar('\n');
}

static void changes_print(const json_t *changes)
{
	const json_t *change;
	size_t i;

	json_array_foreach (changes, i, change) {
		const char *message = format_text(change, "message");

		printf("%3lld  %s  %-9s by %s, %lld at a time: %s%s%s%s\n",
		       (long long)json_integer_value(json_object_get(change, "change_id")),
		       format_time(json_object_get(change, "made_at")).s, format_text(change, "state"),
		       format_text(change, "made_by"), (long long)json_integer_value(json_object_get(change, "at_most")),
		       format_text(change, "reason"), *message ? " (" : "", message, *message ? ")" : "");
		nodes_print(json_object_get(change, "nodes"));
	}
}

int rolling_admin_run(const char *action, const char *change, json_t *values, bool json)
{
	json_t *request = json_pack("{ss}", "action", action), *answer;
	struct err e = {0};

	json_object_update(request, values);
	if (change && json_object_set_new(request, "change", json_string(change))) {
		json_decref(request);
		err_set(&e, "the number of the change is not UTF-8");
		return call_refuse(&e);
	}
	answer = call_gate("rolling", request);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		changes_print(json_object_get(answer, "changes"));
	json_decref(answer);
	return EXIT_OK;
}
