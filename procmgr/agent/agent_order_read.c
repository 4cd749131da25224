/* agent_order_read.c - reads an order from a row of api.node_orders.
 *
 * Called by: agent_order.c, agent_order_launch.c.
 * Invariants: the attempts of an order are sorted by step and node, each once. */
#include "procmgr/agent/agent_order_read.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/order.h"
#include "procmgr/agent/agent_db.h"
#include "procmgr/agent/agent_node.h"

/* Read from the body of a launch request the files that it needs and the tasks that it runs on this node. */
static void read_body(const struct agent_context *c, struct agent_order *o)
{
	struct order order;
	struct err e;
	if (!order_parse(o->body, strlen(o->body), &order, &e))
		return;
	memcpy(o->script, order.script_hash, sizeof o->script);
	memcpy(o->environment, order.environment_hash, sizeof o->environment);
	order_pick_node(&order, c->node); /* fails for virtual nodes, which are not sampled */
	o->first_task = order.spec.per_task ? order.first_task : 0;
	o->tasks = order.spec.per_task ? order.tasks : order.node_index == 0;
	o->has_devices = *order.gres != '\0';
	o->credentials = order.spec.credentials ? xstrdup(order.spec.credentials) : NULL;
	order_free(&order);
}

/* Returns a positive argument of an order by its name, or 0 if there is none. */
static int read_argument(const json_t *args, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(args, name));
	return value > 0 && value <= INT_MAX ? (int)value : 0;
}

/* Read the unsigned arguments of a launch request, such as {}, {"sample_s": 30} or {"first": 2, "last": 10001, "behind": 16}. */
static void read_args(struct agent_order *o, const char *args)
{
	json_t *json = *args ? json_loads(args, 0, NULL) : NULL;
	o->sample_s = read_argument(json, "sample_s");
	o->hold_s = read_argument(json, "hold_s");
	o->array = (struct agent_array){o->key.job_id, read_argument(json, "first"), read_argument(json, "last"),
					read_argument(json, "behind")};
	o->after = (struct record_key){.job_id = o->key.job_id,
				       .step_id = read_argument(json, "after"),
				       .attempt = read_argument(json, "after_attempt"),
				       .node = o->key.node};
	o->boxes = json_incref(json_object_get(json, "boxes"));
	json_decref(json);
}

/* Read the numbers of a PostgreSQL array such as {18,19}. Sets *count to their number. */
static int64_t *read_numbers(const char *text, int *count)
{
	int capacity = 1;
	for (const char *c = text; *c; c++)
		capacity += *c == ',' || *c == '{';
	int64_t *numbers = xmalloc((unsigned long)capacity * sizeof *numbers);
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

/* Compare by step, then by node. */
static int compare_starts(const void *a, const void *b)
{
	const struct agent_start *x = a, *y = b;
	return x->step_id != y->step_id ? (x->step_id > y->step_id) - (x->step_id < y->step_id)
					: (x->node > y->node) - (x->node < y->node);
}

struct agent_start *agent_order_find_start(const struct agent_order *o, const struct record_key *key)
{
	const struct agent_start wanted = {.step_id = key->step_id, .node = key->node};
	if (o->key.job_id != key->job_id || o->key.attempt != key->attempt)
		return NULL;
	return bsearch(&wanted, o->starts, (size_t)o->start_count, sizeof *o->starts, compare_starts);
}

bool agent_order_is_held(const struct agent_order *o)
{
	return o->array.last > 0 || o->after.attempt > 0;
}

int agent_order_take_unsent(struct agent_order *launch, const struct agent_order *by, struct agent_start *taken, int *left)
{
	int count = 0;
	*left = 0;
	for (int i = 0; i < launch->start_count; i++) {
		struct agent_start *start = &launch->starts[i];
		struct record_key key = agent_order_key(launch, start);
		if (!start->sent && agent_order_find_start(by, &key)) {
			start->sent = true;
			taken[count++] = *start;
		}
		*left += !start->sent;
	}
	return count;
}

/* Drop repeated attempts, since a transaction may have written the same order several times. */
static int drop_repeated(struct agent_start *starts, int count)
{
	int kept = 0;
	for (int i = 0; i < count; i++)
		if (kept == 0 || compare_starts(&starts[kept - 1], &starts[i]) != 0)
			starts[kept++] = starts[i];
	return kept;
}

/* Read the attempts of an order. It is for one step on each of `nodes`, or for a step and the steps of `also` on one node. */
static void read_starts(const struct agent_context *c, struct agent_order *o, const char *nodes, const char *also)
{
	int node_count, also_count;
	int64_t *node_ids = read_numbers(nodes, &node_count), *steps = read_numbers(also, &also_count);
	o->starts = xmalloc((unsigned long)(node_count + also_count + 1) * sizeof *o->starts);
	for (int i = 0; i < node_count; i++)
		o->starts[o->start_count++] =
			(struct agent_start){o->key.step_id, agent_node_number(c->nodes, node_ids[i]), false, false};
	o->key.node = node_count > 0 ? o->starts[0].node : 0;
	for (int i = 0; i < also_count; i++)
		o->starts[o->start_count++] = (struct agent_start){(int)steps[i], o->key.node, false, false};
	qsort(o->starts, (size_t)o->start_count, sizeof *o->starts, compare_starts);
	o->start_count = drop_repeated(o->starts, o->start_count);
	o->unanswered = o->start_count;
	free(node_ids);
	free(steps);
}

struct agent_order agent_order_read_ids(const PGresult *result, int row)
{
	struct agent_order o = {.is_launch = strcmp(agent_db_text(result, row, "kind"), "launch") == 0};
	o.ids = read_numbers(agent_db_text(result, row, "order_ids"), &o.id_count);
	o.id = o.id_count > 0 ? o.ids[0] : 0;
	return o;
}

void agent_order_read(const struct agent_context *c, struct agent_order *o, const PGresult *result, int row)
{
	o->key.job_id = strtoll(agent_db_text(result, row, "job_id"), NULL, 10);
	o->key.step_id = atoi(agent_db_text(result, row, "step_id"));
	o->key.attempt = atoi(agent_db_text(result, row, "attempt"));
	read_starts(c, o, agent_db_text(result, row, "node_ids"), agent_db_text(result, row, "also"));
	o->body = xstrdup(agent_db_text(result, row, "body"));
	if (o->is_launch) {
		o->signature = xstrdup(agent_db_text(result, row, "signature"));
		o->received_at = clock_boot_us();
		read_args(o, agent_db_text(result, row, "args"));
		read_body(c, o);
	} else {
		o->kind = xstrdup(agent_db_text(result, row, "kind"));
		o->args = xstrdup(agent_db_text(result, row, "args"));
	}
}

void agent_order_clear(struct agent_order *o)
{
	free(o->ids);
	free(o->starts);
	free(o->body);
	free(o->signature);
	free(o->credentials);
	json_decref(o->boxes);
	free(o->kind);
	free(o->args);
}

void agent_order_set_sent(struct agent_order *o)
{
	o->state = AGENT_ORDER_SENT;
	o->sent_at = clock_boot_us();
}

struct record_key agent_order_key(const struct agent_order *o, const struct agent_start *start)
{
	struct record_key key = o->key;
	key.step_id = start->step_id;
	key.node = start->node;
	return key;
}
