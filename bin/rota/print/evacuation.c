/* evacuation.c - prints one line for each step of an evacuation or a move.
 *
 * Called by: `rota admin node evacuate` and `evacuations`, `rota migrate`. */
#include "bin/rota/print/evacuation.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"

static const struct {
	const char *action, *text;
} outcomes[] = {
	{"checkpoint", "saved and queued again, for other nodes"},
	{"move", "queued again, for other nodes"},
	{"cancel", "cancelled"},
	{"wait", "runs to its end"},
	{"leave", "runs on, not waited for"},
};

static const char *outcome_text(const char *action)
{
	for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
		if (!strcmp(outcomes[i].action, action))
			return outcomes[i].text;
	return action;
}

/* Returns the text of a plan for a step. A suspended step does not end by itself, so the evacuation waits until it is resumed. */
static const char *plan_text(const json_t *step)
{
	const char *action = format_text(step, "action");

	return !strcmp(action, "wait") && !strcmp(format_text(step, "state"), "suspended") ? "waited for until it is resumed"
											   : outcome_text(action);
}

/* Write names as "n1,n2". */
static const char *names_join(const json_t *names, char *text, size_t size)
{
	const json_t *name;
	size_t i, length = 0;

	*text = '\0';
	json_array_foreach (names, i, name) {
		int more = snprintf(text + length, size - length, "%s%s", i ? "," : "", json_string_value(name));

		if (more < 0 || (size_t)more >= size - length)
			break;
		length += (size_t)more;
	}
	return text;
}

void evacuation_print_plan(const json_t *answer)
{
	static const struct table_column columns[] = {
		{"STEP", false, 0}, {"USER", false, 0}, {"STATE", false, 0}, {"NODES", false, 8}, {"THEN", false, 0}};
	struct table *table;
	const json_t *step;
	char names[4096];
	size_t i;

	if (json_array_size(json_object_get(answer, "plan")) == 0) {
		puts("nothing runs there");
		return;
	}
	table = table_new(columns, sizeof columns / sizeof *columns);
	json_array_foreach (json_object_get(answer, "plan"), i, step) {
		table_cell(table, format_text(step, "label"));
		table_cell(table, format_text(step, "user"));
		table_cell(table, format_text(step, "state"));
		table_cell(table, names_join(json_object_get(step, "nodes"), names, sizeof names));
		table_cell(table, plan_text(step));
	}
	table_print(table, stdout, false);
	table_free(table);
}

static void move_print(const json_t *move)
{
	char from[4096], to[4096];

	printf("    %-16s %-8s %s%s%s\n", format_text(move, "label"), format_text(move, "state"),
	       names_join(json_object_get(move, "nodes"), from, sizeof from),
	       json_array_size(json_object_get(move, "to_nodes")) ? " -> " : "",
	       names_join(json_object_get(move, "to_nodes"), to, sizeof to));
}

void evacuation_print_list(const json_t *evacuations)
{
	const json_t *one, *move;
	char names[4096];
	size_t i, k;

	json_array_foreach (evacuations, i, one) {
		const char *message = format_text(one, "message"),
			   *nodes = names_join(json_object_get(one, "nodes"), names, sizeof names);

		printf("%lld  %s  %s  %s by %s%s%s%s\n", json_integer_value(json_object_get(one, "evacuation")),
		       format_time(json_object_get(one, "made_at")).s, *nodes ? nodes : "a job", format_text(one, "state"),
		       format_text(one, "made_by"), *message ? " (" : "", message, *message ? ")" : "");
		json_array_foreach (json_object_get(one, "moves"), k, move)
			move_print(move);
	}
}
