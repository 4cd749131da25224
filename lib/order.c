/* order.c - launch requests and specs: two tables have the fields, their order and valid values.
 *
 * Called by: the translator (specs), the signer, and the launcher, which does not trust a launch request before its signature is
 * verified.
 * Invariants:
 * - A parsed launch request has every field of the table in order, each valid, and no other, except for the optional ones
 *   (order_field.c). So one content has one text. */
#include "lib/order.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arguments.h"
#include "lib/hosts.h"
#include "lib/order_field.h"
#include "lib/order_valid.h"

#define INT(type, member, lowest, highest)                                                                                       \
	{                                                                                                                        \
#member, ORDER_FIELD_INT, offsetof(struct type, member), lowest, highest, NULL, NULL                             \
	}
#define INT64(type, member, lowest, highest)                                                                                     \
	{                                                                                                                        \
#member, ORDER_FIELD_INT64, offsetof(struct type, member), lowest, highest, NULL, NULL                           \
	}
#define ID(type, member)                                                                                                         \
	{                                                                                                                        \
#member, ORDER_FIELD_ID, offsetof(struct type, member), 0, UINT32_MAX - 1LL, NULL, NULL                          \
	}
#define BOOL(type, member)                                                                                                       \
	{                                                                                                                        \
#member, ORDER_FIELD_BOOL, offsetof(struct type, member), 0, 1, NULL, NULL                                       \
	}
#define MARK(type, member)                                                                                                       \
	{                                                                                                                        \
#member, ORDER_FIELD_MARK, offsetof(struct type, member), 1, 1, NULL, NULL                                       \
	}
#define SOME(type, member, highest)                                                                                              \
	{                                                                                                                        \
#member, ORDER_FIELD_SOME, offsetof(struct type, member), 1, highest, NULL, NULL                                 \
	}
#define TEXT(type, member, check, what)                                                                                          \
	{                                                                                                                        \
#member, ORDER_FIELD_TEXT, offsetof(struct type, member), 0, 0, check, what                                      \
	}
#define EXTRA(type, member, check, what)                                                                                         \
	{                                                                                                                        \
#member, ORDER_FIELD_EXTRA, offsetof(struct type, member), 0, 0, check, what                                     \
	}

static const struct order_field spec_table[] = {
	INT(order_spec, pre_from, 0, INT_MAX),
	INT(order_spec, pre_to, 0, INT_MAX),
	INT(order_spec, from, 0, INT_MAX),
	INT(order_spec, to, 0, INT_MAX),
	BOOL(order_spec, per_task),
	TEXT(order_spec, step_name, order_valid_name, "a name of up to 64 letters, digits, _ . -"),
	TEXT(order_spec, job_name, order_valid_filled_line, "a line of text"),
	TEXT(order_spec, account, order_valid_line, "a line of text"),
	TEXT(order_spec, partition, order_valid_line, "a line of text"),
	TEXT(order_spec, output, order_valid_pattern, "a path pattern"),
	TEXT(order_spec, error, order_valid_pattern, "a path pattern"),
	TEXT(order_spec, input, order_valid_pattern, "a path pattern"),
	BOOL(order_spec, append),
	TEXT(order_spec, workdir, order_valid_absolute, "an absolute path"),
	INT(order_spec, umask, 0, 0777),
	TEXT(order_spec, shell, order_valid_shell, "empty, \"login\", \"mover\" or an absolute path"),
	TEXT(order_spec, user_prolog, order_valid_absolute_or_empty, "empty or an absolute path"),
	TEXT(order_spec, user_epilog, order_valid_absolute_or_empty, "empty or an absolute path"),
	TEXT(order_spec, group, order_valid_name_or_empty, "empty or a name of up to 64 letters, digits, _ . -"),
	TEXT(order_spec, rlimits, order_valid_rlimits, "name=number pairs"),
	INT(order_spec, submit_ntasks, 0, INT_MAX),
	INT(order_spec, cpus_per_task, 1, INT_MAX),
	MARK(order_spec, fence),
	MARK(order_spec, no_kill),
	EXTRA(order_spec, submit_dir, order_valid_absolute, "an absolute path"),
	SOME(order_spec, array_min, INT_MAX),
	SOME(order_spec, array_max, INT_MAX),
	SOME(order_spec, array_step, INT_MAX),
	SOME(order_spec, signal, ORDER_SIGNAL_MOST),
	SOME(order_spec, signal_s, ORDER_SIGNAL_AHEAD_MOST),
	MARK(order_spec, signal_shell),
	EXTRA(order_spec, arguments, arguments_valid, "the arguments of a script"),
	EXTRA(order_spec, if_changed, order_valid_if_changed, "OUT[,OUT...]:IN[,IN...]"),
	MARK(order_spec, step_manager),
	MARK(order_spec, replace_failed),
	EXTRA(order_spec, grows, order_valid_attempt, "an attempt such as 812.0.1"),
	SOME(order_spec, notify, ORDER_SIGNAL_MOST),
	SOME(order_spec, idle_timeout_s, INT_MAX),
	EXTRA(order_spec, transfers, order_valid_transfers, "a list of transfers"),
	EXTRA(order_spec, credentials, order_valid_credentials, "a list of credentials such as krb5,archive"),
	EXTRA(order_spec, checkpoint, order_valid_checkpoint, "\"app\", \"auto\" or \"script:NAME\""),
	EXTRA(order_spec, checkpoint_dir, order_valid_absolute, "an absolute path"),
	SOME(order_spec, checkpoint_signal, ORDER_SIGNAL_MOST),
	SOME(order_spec, checkpoint_interval_s, INT_MAX),
	MARK(order_spec, checkpoint_auto),
	MARK(order_spec, tmpdir),
	SOME(order_spec, checkpoint_before_s, INT_MAX),
	SOME(order_spec, checkpoint_keep, INT_MAX),
	MARK(order_spec, checkpoint_shell),
};

static const struct order_field order_table[] = {
	INT64(order, job_id, 1, INT64_MAX),
	INT(order, step_id, 0, INT_MAX),
	INT(order, attempt, 0, INT_MAX),
	TEXT(order, node, order_valid_node, "a node name"),
	TEXT(order, nodes, order_valid_hosts, "a list of node names"),
	INT(order, node_index, 0, INT_MAX),
	INT(order, node_count, 1, INT_MAX),
	SOME(order, more_nodes, INT_MAX),
	INT(order, first_task, 0, INT_MAX),
	INT(order, tasks, 0, INT_MAX),
	INT(order, task_count, 1, INT_MAX),
	INT(order, cpus, 0, INT_MAX),
	EXTRA(order, tasks_per_node, order_valid_folded, "numbers such as 4(x2),2"),
	EXTRA(order, cpus_per_node, order_valid_folded, "numbers such as 4(x2),2"),
	INT64(order, mem_mb, 0, INT64_MAX / (1024 * 1024)),
	TEXT(order, gres, order_valid_gres, "resources like gpu:0+3"),
	ID(order, uid),
	ID(order, gid),
	TEXT(order, user, order_valid_user, "a user name"),
	TEXT(order, script_hash, order_valid_hash, "64 lower-case hex digits"),
	TEXT(order, environment_hash, order_valid_hash, "64 lower-case hex digits"),
	INT(order, array_index, -1, INT_MAX),
	INT(order, array_size, 0, INT_MAX),
	TEXT(order, step_label, order_valid_label, "a step label"),
	EXTRA(order, also, order_valid_list, "a list of elements"),
	INT64(order, time_limit_s, 0, INT64_MAX / 1000000),
	INT(order, grace_s, 0, INT_MAX),
	BOOL(order, prolog),
	BOOL(order, wait_for_go),
	EXTRA(order, partition, order_valid_filled_line, "a line of text"),
	SOME(order, idle_timeout_s, INT_MAX),
	EXTRA(order, idle_timeout_of, order_valid_filled_line, "a line of text"),
	EXTRA(order, variables, order_valid_variables, "environment variables"),
	TEXT(order, failing, order_valid_nodes, "node names with commas between"),
	INT64(order, expires_at, 0, INT64_MAX),
};

enum {
	SPEC_COUNT = sizeof spec_table / sizeof *spec_table,
	SPEC_OWN = 6, /* number of fields up to step_name */
	ORDER_COUNT = sizeof order_table / sizeof *order_table
};

static bool range_is_good(int from, int to)
{
	return from == 0 ? to == 0 : from <= to;
}

static bool spec_read(const struct fields *f, struct order_spec *spec, struct err *e)
{
	memset(spec, 0, sizeof *spec);
	int count = order_fields_read(spec_table, SPEC_COUNT, f, spec, e);
	if (count < 0 || !order_fields_end(f, count, e))
		return false;
	if (!range_is_good(spec->pre_from, spec->pre_to))
		return err_set(e, "the preamble's lines %d to %d are not a range", spec->pre_from, spec->pre_to);
	if (!range_is_good(spec->from, spec->to))
		return err_set(e, "the step's lines %d to %d are not a range", spec->from, spec->to);
	if (spec->signal == 0 && (spec->signal_s > 0 || spec->signal_shell))
		return err_set(e, "the signal before the time limit has no number");
	if (spec->array_step == 0 ? spec->array_min > 0 || spec->array_max > 0 : spec->array_min > spec->array_max)
		return err_set(e, "the array's indices %d to %d are not a range", spec->array_min, spec->array_max);
	return true;
}

bool order_spec_parse(const char *text, size_t length, struct order_spec *spec, struct fields **owner, struct err *e)
{
	struct fields *f = fields_parse(text, length, e);
	if (f && !spec_read(f, spec, e)) {
		fields_free(f);
		f = NULL;
	}
	*owner = f;
	return f != NULL;
}

static struct fields *spec_write(int from, int to, const struct order_spec *spec)
{
	struct fields *f = fields_new();
	order_fields_write(spec_table + from, to - from, f, spec);
	return f;
}

struct fields *order_spec_write(const struct order_spec *spec)
{
	return spec_write(0, SPEC_COUNT, spec);
}

struct fields *order_spec_write_own(const struct order_spec *spec)
{
	return spec_write(0, SPEC_OWN, spec);
}

struct fields *order_spec_write_end(const struct order_spec *spec)
{
	return spec_write(SPEC_OWN, SPEC_COUNT, spec);
}

/* Returns true if `nodes` has node_count names and `node` is the one at node_index. If `nodes` is empty, `node` must be the only
 * node. */
static bool nodes_fit(const struct order *order)
{
	if (!*order->nodes)
		return order->node_index == 0 && order->node_count == 1;
	char name[HOSTS_NAME_SIZE];
	return hosts_count(order->nodes) == order->node_count && hosts_at(order->nodes, order->node_index, name) &&
	       strcmp(order->node, name) == 0;
}

/* Check the fields of a launch request against each other, and fill in its array elements. */
static bool order_fits(struct order *order, struct err *e)
{
	if (!nodes_fit(order))
		return err_set(e, "node \"%s\" is not number %d of the %d nodes \"%.200s\"", order->node, order->node_index,
			       order->node_count, order->nodes);
	if (order->more_nodes >= order->node_count - order->node_index || (order->more_nodes > 0 && order->also))
		return err_set(e, "node number %d and the %d nodes after it do not fit a step of %d nodes", order->node_index,
			       order->more_nodes, order->node_count);
	if (order->first_task > order->task_count ||
	    (int64_t)order->tasks * (1 + (int64_t)order->more_nodes) > order->task_count - order->first_task)
		return err_set(e, "first task %d and task count %d do not fit a step of %d tasks", order->first_task,
			       order->tasks, order->task_count);
	order->first_index = order->node_index;
	return order_elements_fill(order, e);
}

bool order_parse(const char *text, size_t length, struct order *order, struct err *e)
{
	memset(order, 0, sizeof *order);
	order->fields = fields_parse(text, length, e);
	int count = order->fields ? order_fields_read(order_table, ORDER_COUNT, order->fields, order, e) : -1;
	if (count < 0)
		goto fail;
	const char *spec = fields_get(order->fields, "spec");
	if (!spec) {
		err_set(e, "field \"spec\" is missing");
		goto fail;
	}
	if (strcmp(fields_name(order->fields, count), "spec") != 0) {
		err_set(e, "unknown field \"%s\"", fields_name(order->fields, count));
		goto fail;
	}
	if (!order_fields_end(order->fields, count + 1, e) || !order_fits(order, e) ||
	    !order_spec_parse(spec, strlen(spec), &order->spec, &order->spec_fields, e))
		goto fail;
	return true;
fail:
	order_free(order);
	return false;
}

void order_free(struct order *order)
{
	if (!order)
		return;
	fields_free(order->fields);
	fields_free(order->spec_fields);
	free(order->elements);
	free(order->label);
	free(order->name);
	memset(order, 0, sizeof *order);
}

struct fields *order_write(const struct order *order, const char *spec_text)
{
	struct fields *f = fields_new();
	order_fields_write(order_table, ORDER_COUNT, f, order);
	fields_add(f, "spec", spec_text);
	return f;
}
