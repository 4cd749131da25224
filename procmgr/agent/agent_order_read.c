/* agent_order_read.c - an order as a row of node_orders becomes one in hand.
 *
 * Called by agent_order.c. What always holds: its attempts stand in the order of steps and nodes; an order that cannot be read is in hand
 * all the same, for the launcher to refuse. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "procmgr/agent/agent_parts.h"

const char *agent_cell(const PGresult *result, int row, const char *column)
{
	int c = PQfnumber(result, column);
	return c < 0 || PQgetisnull(result, row, c) ? "" : PQgetvalue(result, row, c);
}

/* Which blobs a launch needs, and what it runs; an order that cannot be read is the launcher's to refuse. */
static void read_body(const struct agent *a, struct agent_order *o)
{
	struct order order;
	struct err e;
	if (!order_parse(o->body, strlen(o->body), &order, &e))
		return;
	memcpy(o->script, order.script_hash, sizeof o->script);
	memcpy(o->environment, order.environment_hash, sizeof o->environment);
	order_pick_node(&order, a->node); /* of virtual ones nothing is sampled */
	o->first_task = order.spec.per_task ? order.first_task : 0;
	o->tasks = order.spec.per_task ? order.tasks : order.node_index == 0;
	o->units = *order.gres != '\0';
	order_free(&order);
}

/* One of the arguments of a launch that are not signed; 0: it has none such. */
static int number(const json_t *args, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(args, name));
	return value > 0 && value <= INT_MAX ? (int)value : 0;
}

/* {} mostly, or {"sample_s": 30}, {"first": 2, "last": 10001, "behind": 16} */
static void read_args(struct agent_order *o, const char *args)
{
	json_t *json = *args ? json_loads(args, 0, NULL) : NULL;
	o->sample_s = number(json, "sample_s");
	o->behind = number(json, "behind");
	o->first = number(json, "first");
	o->last = number(json, "last");
	json_decref(json);
}

/* The numbers of an array like {18,19}; *count of them. */
static int64_t *read_numbers(const char *text, int *count)
{
	int room = 1;
	for (const char *c = text; *c; c++)
		room += *c == ',' || *c == '{';
	int64_t *numbers = xmalloc((unsigned long)room * sizeof *numbers);
	*count = 0;
	for (const char *c = text; *c == '{' || *c == ',';) {
		char *end;
		int64_t number = strtoll(c + 1, &end, 10);
		if (end == c + 1)
			break;
		numbers[(*count)++] = number;
		c = end;
	}
	return numbers;
}

int agent_order_by_place(const void *a, const void *b)
{
	const struct agent_start *x = a, *y = b;
	return x->step_id != y->step_id ? (x->step_id > y->step_id) - (x->step_id < y->step_id)
					: (x->node > y->node) - (x->node < y->node);
}

/* What one transaction has said several times is said once. */
static int drop_repeated(struct agent_start *starts, int count)
{
	int kept = 0;
	for (int i = 0; i < count; i++)
		if (kept == 0 || agent_order_by_place(&starts[kept - 1], &starts[i]) != 0)
			starts[kept++] = starts[i];
	return kept;
}

/* The step of the key on each of the nodes, or, on one node, it and those of `also`. */
static void read_starts(const struct agent *a, struct agent_order *o, const char *nodes, const char *also)
{
	int node_count, also_count;
	int64_t *node_ids = read_numbers(nodes, &node_count), *steps = read_numbers(also, &also_count);
	o->starts = xmalloc((unsigned long)(node_count + also_count + 1) * sizeof *o->starts);
	for (int i = 0; i < node_count; i++)
		o->starts[o->start_count++] =
			(struct agent_start){o->key.step_id, agent_node_number(a, node_ids[i]), false, false};
	o->key.node = node_count > 0 ? o->starts[0].node : 0;
	for (int i = 0; i < also_count; i++)
		o->starts[o->start_count++] = (struct agent_start){(int)steps[i], o->key.node, false, false};
	qsort(o->starts, (size_t)o->start_count, sizeof *o->starts, agent_order_by_place);
	o->start_count = drop_repeated(o->starts, o->start_count);
	o->unanswered = o->start_count;
	free(node_ids);
	free(steps);
}

struct agent_order agent_order_named(const PGresult *result, int row)
{
	struct agent_order o = {.launch = strcmp(agent_cell(result, row, "kind"), "launch") == 0};
	o.ids = read_numbers(agent_cell(result, row, "order_ids"), &o.id_count);
	o.id = o.id_count > 0 ? o.ids[0] : 0;
	return o;
}

void agent_order_read(const struct agent *a, struct agent_order *o, const PGresult *result, int row)
{
	o->key.job_id = strtoll(agent_cell(result, row, "job_id"), NULL, 10);
	o->key.step_id = atoi(agent_cell(result, row, "step_id"));
	o->key.attempt = atoi(agent_cell(result, row, "attempt"));
	read_starts(a, o, agent_cell(result, row, "node_ids"), agent_cell(result, row, "also"));
	if (o->launch) {
		o->body = xstrdup(agent_cell(result, row, "body"));
		o->signature = xstrdup(agent_cell(result, row, "signature"));
		o->taken_at = clock_boot_us();
		read_args(o, agent_cell(result, row, "args"));
		read_body(a, o);
	} else {
		o->kind = xstrdup(agent_cell(result, row, "kind"));
		o->args = xstrdup(agent_cell(result, row, "args"));
	}
}
