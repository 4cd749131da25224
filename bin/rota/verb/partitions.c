/* partitions.c - `rota partitions`: lists partitions with their nodes, limits, and numbers of waiting and running steps. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/join.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"

const struct verb_option partitions_options[] = {
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* Returns a time limit of a partition as text; "none" if there is no limit. */
static struct word limit(const json_t *partition, const char *key)
{
	const json_t *value = json_object_get(partition, key);

	return json_number_value(value) > 0 ? format_duration(json_number_value(value)) : (struct word){"none"};
}

static void row(struct table *table, const json_t *partition)
{
	const char *state = format_text(partition, "state");
	struct word cpus;

	snprintf(cpus.s, sizeof(cpus.s), "%.30s/%.30s", format_count(json_object_get(partition, "cpus_used")).s,
		 format_count(json_object_get(partition, "cpus")).s);
	table_cell(table, format_text(partition, "name"));
	table_cell(table, json_is_true(json_object_get(partition, "is_default")) ? "default" : "");
	table_cell_coloured(table, state, format_state_colour(state));
	table_cell(table, format_count(json_object_get(partition, "priority")).s);
	table_cell(table, limit(partition, "default_time_s").s);
	table_cell(table, limit(partition, "max_time_s").s);
	table_cell(table, cpus.s);
	table_cell(table, format_count(json_object_get(partition, "running")).s);
	table_cell(table, format_count(json_object_get(partition, "pending")).s);
	join_cell(table, json_object_get(partition, "nodes"));
}

int verb_partitions(const struct verb *verb, int argc, char **argv)
{
	static const struct table_column COLUMNS[] = {
		{"PARTITION", false, 0}, {"", false, 1},    {"STATE", false, 0},  {"PRIO", true, 0},	{"TIME", true, 0},
		{"MAX TIME", true, 0},	 {"CPUS", true, 0}, {"RUNNING", true, 0}, {"PENDING", true, 0}, {"NODES", false, 5},
	};
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	bool wide = false, json = false;
	const json_t *partition;
	json_t *answer;
	size_t i;

	for (int id; (id = verb_next(&scan));) {
		wide |= id == 'w';
		json |= id == VERB_JSON;
	}
	verb_operands(&scan, 0, 0);
	answer = call_gate("partitions", NULL);
	if (answer && json) {
		call_print_json();
	} else if (answer) {
		json_array_foreach (json_object_get(answer, "partitions"), i, partition)
			row(table, partition);
		table_print(table, stdout, wide);
	}
	table_free(table);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}
