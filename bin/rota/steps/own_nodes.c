/* own_nodes.c - `rota nodes --mine` (own_nodes.h).
 *
 * Called by: verb/nodes.c.
 * Invariants: the step manager answers, so this works without jobmgrd and PostgreSQL. */
#include "bin/rota/steps/own_nodes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/keys.h"
#include "bin/rota/print/picture.h"
#include "bin/rota/print/table.h"
#include "bin/rota/steps/session.h"
#include "lib/err.h"

enum { WATCH_MS = 1000 };

/* Add a cell such as "1/4": free and total amount. Empty for a node whose agent has never connected, so neither is known. */
static void add_share(struct table *t, const json_t *node, const char *unused, const char *all, bool is_size)
{
	const json_t *left = json_object_get(node, unused), *total = json_object_get(node, all);
	char *text = !total    ? xstrdup("-")
		     : is_size ? xasprintf("%s/%s", format_size_mb(left).s, format_size_mb(total).s)
			       : xasprintf("%s/%s", format_count(left).s, format_count(total).s);

	table_cell(t, text);
	free(text);
}

/* Add a cell such as "gpu:1/2,ssd:0/1": free and total devices of each generic resource. */
static void add_gres(struct table *t, const json_t *node)
{
	const json_t *left = json_object_get(node, "gres_free"), *count;
	const char *name;
	char *text = xstrdup("");

	json_object_foreach (json_object_get(node, "gres"), name, count) {
		char *longer = xasprintf("%s%s%s:%lld/%lld", text, *text ? "," : "", name,
					 (long long)json_integer_value(json_object_get(left, name)),
					 (long long)json_integer_value(count));

		free(text);
		text = longer;
	}
	table_cell(t, *text ? text : "-");
	free(text);
}

static void print_nodes(const json_t *nodes, FILE *out)
{
	static const struct table_column columns[] = {{"NODE", false, 0},	{"STATE", false, 0},	 {"CPUS FREE", true, 0},
						      {"MEMORY FREE", true, 0}, {"GRES FREE", false, 5}, {"REASON", false, 12}};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	const json_t *node;
	size_t i;

	json_array_foreach ((json_t *)nodes, i, node) {
		const char *state = format_text(node, "state");

		table_cell(t, format_text(node, "node"));
		table_cell_coloured(t, state, format_state_colour(state));
		add_share(t, node, "cpus_free", "cpus", false);
		add_share(t, node, "mem_mb_free", "mem_mb", true);
		add_gres(t, node);
		table_cell(t, format_text(node, "reason"));
	}
	table_print(t, out, false);
	table_free(t);
}

/* Redraw the table until `q` is pressed. Returns false if the step manager is gone. */
static bool watch_nodes(struct rota_steps *steps)
{
	json_t *nodes;

	keys_take(picture_leave, 128 + SIGINT);
	while ((nodes = rota_steps_resources(steps))) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (!out)
			die("out of memory");
		print_nodes(nodes, out);
		fclose(out);
		picture_text(text);
		free(text);
		json_decref(nodes);
		if (keys_rest(WATCH_MS))
			break;
	}
	picture_leave();
	return nodes != NULL;
}

static bool list_nodes(struct rota_steps *steps, bool json)
{
	json_t *nodes = rota_steps_resources(steps);

	if (nodes && json) {
		char *text = json_dumps(nodes, JSON_INDENT(2));

		printf("{\"nodes\": %s}\n", text ? text : "[]");
		free(text);
	} else if (nodes) {
		print_nodes(nodes, stdout);
	}
	json_decref(nodes);
	return nodes != NULL;
}

int own_nodes_show(const char *verb, bool watch, bool json)
{
	int status = EXIT_OK;
	struct rota_steps *steps = session_open(verb, &status);

	if (!steps)
		return status;
	if (!(watch && !json && isatty(STDOUT_FILENO) ? watch_nodes(steps) : list_nodes(steps, json)))
		status = session_failed(verb, steps);
	rota_steps_disconnect(steps);
	return status;
}
