/* nodes.c - `rota nodes`: each node with its resources, its allocations, and the reason if it is unavailable; the images and
 * preparations that jobs may ask for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/join.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/steps/own_nodes.h"
#include "bin/rota/line/words.h"

enum { NODES_MINE = 256, NODES_WATCH, NODES_IMAGES };

const struct verb_option nodes_options[] = {
	{NODES_MINE, "mine", NULL, "inside a job: the nodes of this step, with what is free for rota run there"},
	{NODES_WATCH, "watch", NULL, "with --mine: redraw the table every second, until you press q"},
	{NODES_IMAGES, "images", NULL, "the images and preparations that your jobs may ask for, and how many nodes have them"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_STALE,
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* Returns "3/8": the allocated and the total amount of a resource. */
static struct word share_word(struct word used, struct word all)
{
	struct word w;

	snprintf(w.s, sizeof(w.s), "%.30s/%.30s", used.s, all.s);
	return w;
}

/* Add a cell that says why the node is unavailable, and notices: maintenance, a deadline, failing hardware. */
static void reason_cell(struct table *table, const json_t *node)
{
	const char *reason = format_text(node, "reason"), *notice = format_text(node, "notice");
	char *text = xasprintf("%s%s%s", reason, *reason && *notice ? "; " : "", notice);

	table_cell(table, text);
	free(text);
}

static void row(struct table *table, const json_t *node)
{
	const char *state = format_text(node, "state");

	table_cell(table, format_text(node, "name"));
	table_cell_coloured(table, state, format_state_colour(state));
	table_cell(table,
		   share_word(format_count(json_object_get(node, "cpus_used")), format_count(json_object_get(node, "cpus"))).s);
	table_cell(table, share_word(format_size_mb(json_object_get(node, "mem_used_mb")),
				     format_size_mb(json_object_get(node, "mem_mb")))
				  .s);
	table_cell(table, format_text(node, "gres"));
	table_cell(table, format_count(json_object_get(node, "steps")).s);
	join_cell(table, json_object_get(node, "partitions"));
	join_cell(table, json_object_get(node, "features"));
	reason_cell(table, node);
}

static int show_images(bool wide, bool json)
{
	static const struct table_column COLUMNS[] = {
		{"OPTION", false, 0}, {"NAME", false, 0}, {"NODES", true, 0}, {"EXPECTED", true, 0}, {"NOTE", false, 0}};
	json_t *answer = call_gate("setups", json_object());
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *setup;
	size_t i;

	if (answer && json)
		call_print_json();
	json_array_foreach (json_object_get(answer, "setups"), i, setup) {
		char *option = xasprintf("--%s", format_text(setup, "kind"));
		table_cell(table, option);
		table_cell(table, format_text(setup, "name"));
		table_cell(table, format_count(json_object_get(setup, "nodes")).s);
		table_cell(table, format_duration(json_number_value(json_object_get(setup, "expected_s"))).s);
		table_cell(table, json_is_true(json_object_get(setup, "failed")) ? "has failed too often" : "");
		free(option);
	}
	if (answer && !json)
		table_print(table, stdout, wide);
	table_free(table);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}

int verb_nodes(const struct verb *verb, int argc, char **argv)
{
	static const struct table_column COLUMNS[] = {
		{"NODE", false, 0}, {"STATE", false, 0},      {"CPUS", true, 0},      {"MEMORY", true, 0},   {"GRES", false, 5},
		{"STEPS", true, 0}, {"PARTITIONS", false, 6}, {"FEATURES", false, 6}, {"REASON", false, 12},
	};
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	bool wide = false, json = false, mine = false, watch = false, images = false;
	const json_t *node;
	json_t *request = json_object(), *answer;
	size_t i;

	for (int id; (id = verb_next(&scan));) {
		wide |= id == 'w';
		mine |= id == NODES_MINE;
		watch |= id == NODES_WATCH;
		images |= id == NODES_IMAGES;
		json |= id == VERB_JSON;
		if (id == VERB_STALE)
			call_use_stale();
	}
	if (watch && !mine)
		verb_misuse(verb, "--watch needs --mine");
	if (images) {
		verb_operands(&scan, 0, 0);
		table_free(table);
		json_decref(request);
		return show_images(wide, json);
	}
	if (mine) {
		verb_operands(&scan, 0, 0);
		table_free(table);
		json_decref(request);
		return own_nodes_show(verb->name, watch, json);
	}
	if (scan.operands)
		json_object_set_new(request, "names", words_nodes(&scan));
	answer = call_gate("nodes", request);
	if (answer && json) {
		call_print_json();
	} else if (answer) {
		json_array_foreach (json_object_get(answer, "nodes"), i, node)
			row(table, node);
		table_print(table, stdout, wide);
	}
	table_free(table);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}
