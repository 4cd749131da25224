/* transfers.c - a table of transfers of data (transfers.h).
 *
 * Called by: stage.c, show.c. */
#include "bin/rota/print/transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "lib/err.h"

static const char *text_or_dash(const char *text)
{
	return *text ? text : "-";
}

static void transfers_add_row(struct table *t, const json_t *row)
{
	const char *state = format_text(row, "state"), *place = format_text(row, "place");
	char *id = xasprintf("%lld.%lld", (long long)json_integer_value(json_object_get(row, "job_id")),
			     (long long)json_integer_value(json_object_get(row, "transfer")));
	const json_t *rate = json_object_get(row, "bytes_per_s");
	json_t *whole = json_is_number(rate) ? json_integer((json_int_t)json_number_value(rate)) : json_null();

	table_cell(t, id);
	table_cell(t, format_text(row, "direction"));
	table_cell_coloured(t, state, format_state_colour(strcmp(state, "done") == 0 ? "completed" : state));
	table_cell(t, text_or_dash(*place ? place : format_text(row, "node")));
	table_cell(t, format_count(json_object_get(row, "files")).s);
	table_cell(t, format_size_bytes(json_object_get(row, "bytes")).s);
	table_cell(t, format_size_bytes(whole).s);
	table_cell(t, format_text(row, "source"));
	table_cell(t, text_or_dash(format_text(row, "destination")));
	table_cell(t, format_text(row, "message"));
	json_decref(whole);
	free(id);
}

void transfers_print(const json_t *transfers, bool wide)
{
	static const struct table_column COLUMNS[] = {{"TRANSFER", false, 0}, {"WAY", false, 0},     {"STATE", false, 0},
						      {"NODE", false, 0},     {"FILES", true, 0},    {"SIZE", true, 0},
						      {"RATE/s", true, 0},    {"SOURCE", false, 12}, {"DESTINATION", false, 12},
						      {"MESSAGE", false, 12}};
	struct table *t = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *row;
	size_t i;

	json_array_foreach (transfers, i, row)
		transfers_add_row(t, row);
	table_print(t, stdout, wide);
	table_free(t);
}
