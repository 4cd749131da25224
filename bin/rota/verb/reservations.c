/* reservations.c - `rota reservations`: reservations of nodes, when they apply, and who may use them. */
#include <stdio.h>
#include <stdlib.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/join.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"

const struct verb_option reservations_options[] = {
	{'a', "all", NULL, "also reservations that are over"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* Append a cell to the printed table: the users and accounts that may use the reservation. */
static void let_in(struct table *table, const json_t *reservation)
{
	json_t *names = json_deep_copy(json_object_get(reservation, "users"));

	json_array_extend(names, json_object_get(reservation, "accounts"));
	join_cell(table, names);
	json_decref(names);
}

static void row(struct table *table, const json_t *reservation)
{
	const char *state = format_text(reservation, "state"), *recurs = format_text(reservation, "recurs");
	char *again = *recurs ? xasprintf("every %s", recurs) : xstrdup("");

	table_cell(table, format_text(reservation, "name"));
	table_cell(table, state);
	table_cell(table, format_when(json_object_get(reservation, "starts_at")).s);
	table_cell(table, format_when(json_object_get(reservation, "ends_at")).s);
	table_cell(table, again);
	join_cell(table, json_object_get(reservation, "nodes"));
	let_in(table, reservation);
	table_cell(table, format_count(json_object_get(reservation, "steps")).s);
	table_cell(table, format_text(reservation, "reason"));
	free(again);
}

int verb_reservations(const struct verb *verb, int argc, char **argv)
{
	static const struct table_column COLUMNS[] = {
		{"NAME", false, 0},  {"STATE", false, 0},   {"START", false, 0}, {"END", false, 0},	{"AGAIN", false, 6},
		{"NODES", false, 5}, {"ALLOWED", false, 6}, {"STEPS", true, 0},	 {"REASON", false, 12},
	};
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	bool all = false, wide = false, json = false;
	const json_t *reservation;
	json_t *request, *answer;
	size_t i;

	for (int id; (id = verb_next(&scan));) {
		all |= id == 'a';
		wide |= id == 'w';
		json |= id == VERB_JSON;
	}
	request = json_pack("{sb}", "all", all);
	if (scan.operands)
		json_object_set_new(request, "names", words_operands(&scan));
	answer = call_gate("reservations", request);
	if (answer && json) {
		call_print_json();
	} else if (answer) {
		json_array_foreach (json_object_get(answer, "reservations"), i, reservation)
			row(table, reservation);
		table_print(table, stdout, wide);
	}
	table_free(table);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}
