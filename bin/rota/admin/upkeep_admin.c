/* upkeep_admin.c - `rota admin node change-all`, `changes` and `cancel-change`: changes of many nodes, some at a time; and `node
 * health`: results of checks of nodes.
 *
 * Called by: `rota admin`. */
#include "bin/rota/admin/upkeep_admin.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/admin/reboot_admin.h"
#include "bin/rota/call/call.h"
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

/* Actions of `rota admin node`: the request, the action in the request, the name of the operand in it ("": no operand), and the
 * list in its answer. */
static const struct upkeep_action {
	const char *name, *request, *action, *operand, *list;
	bool needs_operand, takes_values;
	void (*print)(const json_t *list);
} ACTIONS[] = {
	{"change-all", "rolling", "start", "", "changes", false, true, changes_print},
	{"changes", "rolling", "list", "change", "changes", false, false, changes_print},
	{"cancel-change", "rolling", "cancel", "change", "changes", true, false, changes_print},
	{"health", "node_health", NULL, "nodes", "health", false, false, health_print},
};

static const struct upkeep_action *upkeep_find(const char *action)
{
	for (size_t i = 0; i < sizeof ACTIONS / sizeof *ACTIONS; i++)
		if (!strcmp(ACTIONS[i].name, action))
			return &ACTIONS[i];
	return NULL;
}

bool upkeep_admin_has(const char *action)
{
	return upkeep_find(action) != NULL;
}

static void upkeep_check(const struct verb *verb, const struct upkeep_action *action, const char *operand, json_t *values)
{
	if (operand && !*action->operand)
		verb_misuse(verb, "\"%s\" is one operand too many; name nodes by --nodes=LIST", operand);
	if (!operand && action->needs_operand)
		verb_misuse(verb, "name the number of a change: rota admin node %s CHANGE", action->name);
	if (action->takes_values && !json_object_get(values, "at_most"))
		verb_misuse(verb, "\"%s\" needs to know how many nodes may be out of use: add --at-most=10%%", action->name);
	if (!action->takes_values && json_object_size(values))
		verb_misuse(verb, "\"node %s\" has no option --%s", action->name, json_object_iter_key(json_object_iter(values)));
}

int upkeep_admin_run(const struct verb *verb, const char *name, const char *operand, json_t *values, bool json)
{
	const struct upkeep_action *action = upkeep_find(name);
	json_t *request = json_object(), *answer;
	struct err e = {0};

	upkeep_check(verb, action, operand, values);
	if (json_object_get(values, "reboot") && !reboot_admin_is_possible(&e)) {
		json_decref(request);
		return call_refuse(&e);
	}
	if (action->action)
		json_object_set_new(request, "action", json_string(action->action));
	json_object_update(request, values);
	if (operand && json_object_set_new(request, action->operand, json_string(operand))) {
		json_decref(request);
		err_set(&e, "the operand of \"%s\" is not UTF-8", name);
		return call_refuse(&e);
	}
	answer = call_gate(action->request, request);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		action->print(json_object_get(answer, action->list));
	json_decref(answer);
	return EXIT_OK;
}
