/* cost.c - prints the highest possible cost of a job. */
#include "bin/rota/print/cost.h"

#include <stdio.h>

#include "bin/rota/print/format.h"
#include "bin/rota/print/stats.h"
#include "bin/rota/print/table.h"

void cost_print(const json_t *cost, bool json)
{
	static const struct table_column columns[] = {{"STEP", false, 8}, {"PARTITION", false, 5}, {"CPUS", true, 0},
						      {"NODES", true, 0}, {"ELEMENTS", true, 0},   {"TIME", true, 3},
						      {"UNITS", true, 0}, {"AMOUNT", true, 0}};
	const char *account = format_text(cost, "account"), *currency = format_text(cost, "currency");
	if (json) {
		json_dumpf(cost, stdout, JSON_INDENT(2));
		printf("\n");
		return;
	}
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	const json_t *step;
	size_t i;
	json_array_foreach (json_object_get(cost, "steps"), i, step) {
		table_cell(table, format_text(step, "name"));
		table_cell(table, format_text(step, "partition"));
		table_cell(table, format_count(json_object_get(step, "cpus")).s);
		table_cell(table, format_count(json_object_get(step, "nodes")).s);
		table_cell(table, format_count(json_object_get(step, "elements")).s);
		const json_t *limit = json_object_get(step, "time_limit_s");
		table_cell(table, json_is_null(limit) ? "none" : format_duration(json_number_value(limit)).s);
		table_cell(table, stats_number(step, "units", 2).s);
		table_cell(table, stats_number(step, "amount", 2).s);
	}
	table_print(table, stdout, false);
	table_free(table);
	if (!json_is_number(json_object_get(cost, "units"))) {
		printf("\nA step without a time limit has no upper cost; give one with --time.\n");
		return;
	}
	printf("\nat most %s billing units", stats_number(cost, "units", 2).s);
	if (*currency)
		printf(", %s %s", stats_number(cost, "amount", 2).s, currency);
	printf("%s%s\n", *account ? " of account " : "", account);
}
