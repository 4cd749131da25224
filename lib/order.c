/* order.c - launch requests and specs as fields: two tables have the fields, their order and valid values; one loop writes and
 * one parses.
 *
 * Called by: the translator (specs), the signer, and the launcher, which does not trust a launch request before its signature is
 * verified.
 * Invariants:
 * - A parsed launch request has every field of the table in order, each valid, and no other. Fields that may_lack() names are
 *   optional. So one content has one text. */
#include "lib/order.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arguments.h"
#include "lib/credential.h"
#include "lib/hosts.h"

enum kind { KIND_INT, KIND_INT64, KIND_ID, KIND_BOOL, KIND_MARK, KIND_SOME, KIND_TEXT, KIND_EXTRA };

struct order_field {
	const char *name;
	enum kind kind;
	size_t offset;			  /* offset of the member in struct order or struct order_spec */
	int64_t lowest, highest;	  /* range of a number */
	bool (*check)(const char *value); /* whether a text is a valid value of the member */
	const char *what;		  /* description of a valid text, for error messages */
};

static bool only(const char *text, const char *extra)
{
	for (; *text; text++) {
		bool alnum = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9');
		if (!alnum && !strchr(extra, *text))
			return false;
	}
	return true;
}

static bool is_name(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 64 && only(text, "_.-");
}

static bool is_name_or_empty(const char *text)
{
	return !*text || is_name(text);
}

static bool is_node(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 253 && only(text, "_.-") && *text != '.' && *text != '-';
}

static bool is_nodes(const char *text)
{
	return only(text, "_.-,");
}

static bool is_hosts(const char *text)
{
	return only(text, "_.-,[]");
}

static bool is_user(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 256 && only(text, "_.-@\\$") && *text != '-';
}

static bool is_hash(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool is_label(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 160 && only(text, "_.-[]");
}

static bool is_gres(const char *text)
{
	return only(text, "_.-:+,/");
}

static bool is_list(const char *text)
{
	return strspn(text, "0123456789:,") == strlen(text);
}

static bool is_variables(const char *text)
{
	struct fields *f = arguments_parse(text);
	bool good = f != NULL;
	for (int i = 0; good && i < fields_count(f); i++)
		good = strchr("=0123456789", fields_value(f, i)[0]) == NULL && strchr(fields_value(f, i), '=');
	fields_free(f);
	return good;
}

static bool is_rlimits(const char *text)
{
	return only(text, "=,_");
}

static bool is_line(const char *text)
{
	if (strlen(text) > 1024)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return true;
}

static bool is_filled_line(const char *text)
{
	return *text && is_line(text);
}

static bool is_attempt(const char *text)
{
	static const char digits[] = "0123456789";
	size_t job = strspn(text, digits), step = text[job] == '.' ? strspn(text + job + 1, digits) : 0;
	const char *dot = text + job + 1 + step;
	size_t attempt = job && step && *dot == '.' ? strspn(dot + 1, digits) : 0;
	return attempt && dot[1 + attempt] == '\0';
}

static bool is_absolute(const char *text)
{
	return *text == '/' && strlen(text) < PATH_MAX;
}

static bool is_absolute_or_empty(const char *text)
{
	return !*text || is_absolute(text);
}

static bool is_pattern(const char *text)
{
	return strlen(text) < PATH_MAX;
}

static bool is_shell(const char *text)
{
	return is_absolute_or_empty(text) || strcmp(text, "login") == 0 || strcmp(text, "mover") == 0;
}

static bool transfers_valid(const char *text)
{
	struct fields *f = arguments_parse(text);
	bool good = f && fields_count(f) % ORDER_TRANSFER_ITEMS == 1 && is_absolute_or_empty(fields_value(f, 0));
	fields_free(f);
	return good;
}

static bool is_credentials(const char *text)
{
	struct credential list[CREDENTIALS_MOST];
	return credential_list_read(text, list) > 0;
}

bool order_if_changed_valid(const char *text)
{
	size_t length = strlen(text), at = 0;
	int colons = 0;
	bool good = length < PATH_MAX;
	while (good && at <= length) {
		size_t path = strcspn(text + at, ",:");
		good = path > 0;
		colons += text[at + path] == ':';
		at += path + 1;
	}
	return good && colons == 1;
}

#define INT(type, member, lowest, highest)                                                                                       \
	{                                                                                                                        \
#member, KIND_INT, offsetof(struct type, member), lowest, highest, NULL, NULL                                    \
	}
#define INT64(type, member, lowest, highest)                                                                                     \
	{                                                                                                                        \
#member, KIND_INT64, offsetof(struct type, member), lowest, highest, NULL, NULL                                  \
	}
#define ID(type, member)                                                                                                         \
	{                                                                                                                        \
#member, KIND_ID, offsetof(struct type, member), 0, UINT32_MAX - 1LL, NULL, NULL                                 \
	}
#define BOOL(type, member)                                                                                                       \
	{                                                                                                                        \
#member, KIND_BOOL, offsetof(struct type, member), 0, 1, NULL, NULL                                              \
	}
/* A bool whose field is written only if the bool is true. */
#define MARK(type, member)                                                                                                       \
	{                                                                                                                        \
#member, KIND_MARK, offsetof(struct type, member), 1, 1, NULL, NULL                                              \
	}
/* A number whose field is written only if the number is above 0. */
#define SOME(type, member, highest)                                                                                              \
	{                                                                                                                        \
#member, KIND_SOME, offsetof(struct type, member), 1, highest, NULL, NULL                                        \
	}
#define TEXT(type, member, check, what)                                                                                          \
	{                                                                                                                        \
#member, KIND_TEXT, offsetof(struct type, member), 0, 0, check, what                                             \
	}

/* A text whose field is written only if the text is not NULL. */
#define EXTRA(type, member, check, what)                                                                                         \
	{                                                                                                                        \
#member, KIND_EXTRA, offsetof(struct type, member), 0, 0, check, what                                            \
	}

static const struct order_field spec_table[] = {
	INT(order_spec, pre_from, 0, INT_MAX),
	INT(order_spec, pre_to, 0, INT_MAX),
	INT(order_spec, from, 0, INT_MAX),
	INT(order_spec, to, 0, INT_MAX),
	BOOL(order_spec, per_task),
	TEXT(order_spec, step_name, is_name, "a name of up to 64 letters, digits, _ . -"),
	TEXT(order_spec, job_name, is_filled_line, "a line of text"),
	TEXT(order_spec, account, is_line, "a line of text"),
	TEXT(order_spec, partition, is_line, "a line of text"),
	TEXT(order_spec, output, is_pattern, "a path pattern"),
	TEXT(order_spec, error, is_pattern, "a path pattern"),
	TEXT(order_spec, input, is_pattern, "a path pattern"),
	BOOL(order_spec, append),
	TEXT(order_spec, workdir, is_absolute, "an absolute path"),
	INT(order_spec, umask, 0, 0777),
	TEXT(order_spec, shell, is_shell, "empty, \"login\", \"mover\" or an absolute path"),
	TEXT(order_spec, user_prolog, is_absolute_or_empty, "empty or an absolute path"),
	TEXT(order_spec, user_epilog, is_absolute_or_empty, "empty or an absolute path"),
	TEXT(order_spec, group, is_name_or_empty, "empty or a name of up to 64 letters, digits, _ . -"),
	TEXT(order_spec, rlimits, is_rlimits, "name=number pairs"),
	INT(order_spec, submit_ntasks, 0, INT_MAX),
	INT(order_spec, cpus_per_task, 1, INT_MAX),
	MARK(order_spec, fence),
	MARK(order_spec, no_kill),
	EXTRA(order_spec, submit_dir, is_absolute, "an absolute path"),
	SOME(order_spec, array_min, INT_MAX),
	SOME(order_spec, array_max, INT_MAX),
	SOME(order_spec, array_step, INT_MAX),
	SOME(order_spec, signal, ORDER_SIGNAL_MOST),
	SOME(order_spec, signal_s, ORDER_SIGNAL_AHEAD_MOST),
	MARK(order_spec, signal_shell),
	EXTRA(order_spec, arguments, arguments_valid, "the arguments of a script"),
	EXTRA(order_spec, if_changed, order_if_changed_valid, "OUT[,OUT...]:IN[,IN...]"),
	MARK(order_spec, step_manager),
	MARK(order_spec, replace_failed),
	EXTRA(order_spec, grows, is_attempt, "an attempt such as 812.0.1"),
	SOME(order_spec, notify, ORDER_SIGNAL_MOST),
	SOME(order_spec, idle_timeout_s, INT_MAX),
	EXTRA(order_spec, transfers, transfers_valid, "a list of transfers"),
	EXTRA(order_spec, credentials, is_credentials, "a list of credentials such as krb5,archive"),
};

static const struct order_field order_table[] = {
	INT64(order, job_id, 1, INT64_MAX),
	INT(order, step_id, 0, INT_MAX),
	INT(order, attempt, 0, INT_MAX),
	TEXT(order, node, is_node, "a node name"),
	TEXT(order, nodes, is_hosts, "a list of node names"),
	INT(order, node_index, 0, INT_MAX),
	INT(order, node_count, 1, INT_MAX),
	SOME(order, more_nodes, INT_MAX),
	INT(order, first_task, 0, INT_MAX),
	INT(order, tasks, 0, INT_MAX),
	INT(order, task_count, 1, INT_MAX),
	INT(order, cpus, 0, INT_MAX),
	INT64(order, mem_mb, 0, INT64_MAX / (1024 * 1024)),
	TEXT(order, gres, is_gres, "resources like gpu:0+3"),
	ID(order, uid),
	ID(order, gid),
	TEXT(order, user, is_user, "a user name"),
	TEXT(order, script_hash, is_hash, "64 lower-case hex digits"),
	TEXT(order, environment_hash, is_hash, "64 lower-case hex digits"),
	INT(order, array_index, -1, INT_MAX),
	INT(order, array_size, 0, INT_MAX),
	TEXT(order, step_label, is_label, "a step label"),
	EXTRA(order, also, is_list, "a list of elements"),
	INT64(order, time_limit_s, 0, INT64_MAX / 1000000),
	INT(order, grace_s, 0, INT_MAX),
	BOOL(order, prolog),
	BOOL(order, wait_for_go),
	EXTRA(order, partition, is_filled_line, "a line of text"),
	SOME(order, idle_timeout_s, INT_MAX),
	EXTRA(order, idle_timeout_of, is_filled_line, "a line of text"),
	EXTRA(order, variables, is_variables, "environment variables"),
	TEXT(order, failing, is_nodes, "node names with commas between"),
	INT64(order, expires_at, 0, INT64_MAX),
};

enum {
	SPEC_COUNT = sizeof spec_table / sizeof *spec_table,
	SPEC_OWN = 6, /* number of fields up to step_name */
	ORDER_COUNT = sizeof order_table / sizeof *order_table
};

_Static_assert(sizeof(uid_t) == 4 && sizeof(gid_t) == 4, "KIND_ID stands for 32 bits");

/* Read one field, check it, and set its member in `object`. */
static bool member_read(const struct order_field *field, const struct fields *f, void *object, struct err *e)
{
	void *member = (char *)object + field->offset;
	if (field->kind >= KIND_TEXT) {
		const char *value = fields_get(f, field->name);
		*(const char **)member = value;
		return field->check(value) || err_set(e, "field \"%s\" is not %s: \"%.80s\"", field->name, field->what, value);
	}
	int64_t n = 0;
	if (!fields_int(f, field->name, field->lowest, field->highest, &n, e))
		return false;
	switch (field->kind) {
	case KIND_INT:
	case KIND_SOME:
		*(int *)member = (int)n;
		break;
	case KIND_ID:
		*(uint32_t *)member = (uint32_t)n;
		break;
	case KIND_BOOL:
	case KIND_MARK:
		*(bool *)member = n == 1;
		break;
	default:
		*(int64_t *)member = n;
	}
	return true;
}

/* Returns true if a field of this kind may be absent. An absent field means false, 0 or NULL. */
static bool may_lack(enum kind kind)
{
	return kind == KIND_MARK || kind == KIND_SOME || kind == KIND_EXTRA;
}

/* Read the fields of the table, in their order, from the front of `f`. Returns how many fields were read, or -1 if a field is
 * wrong or missing. */
static int table_read(const struct order_field *table, int count, const struct fields *f, void *object, struct err *e)
{
	int at = 0;
	for (int i = 0; i < count; i++) {
		bool more = at < fields_count(f), here = more && strcmp(fields_name(f, at), table[i].name) == 0;
		if (here && !member_read(&table[i], f, object, e))
			return -1;
		if (!here && !may_lack(table[i].kind)) {
			if (more)
				err_set(e, "field \"%s\" is out of place: field \"%s\" is expected there", fields_name(f, at),
					table[i].name);
			else
				err_set(e, "field \"%s\" is missing", table[i].name);
			return -1;
		}
		at += here;
	}
	return at;
}

static bool table_end(const struct fields *f, int count, struct err *e)
{
	return fields_count(f) == count || err_set(e, "unknown field \"%s\"", fields_name(f, count));
}

static void table_write(const struct order_field *table, int count, struct fields *f, const void *object)
{
	for (int i = 0; i < count; i++) {
		const void *member = (const char *)object + table[i].offset;
		switch (table[i].kind) {
		case KIND_INT:
			fields_add_int(f, table[i].name, *(const int *)member);
			break;
		case KIND_ID:
			fields_add_int(f, table[i].name, *(const uint32_t *)member);
			break;
		case KIND_BOOL:
			fields_add_int(f, table[i].name, *(const bool *)member);
			break;
		case KIND_MARK:
			if (*(const bool *)member)
				fields_add_int(f, table[i].name, 1);
			break;
		case KIND_SOME:
			if (*(const int *)member > 0)
				fields_add_int(f, table[i].name, *(const int *)member);
			break;
		case KIND_INT64:
			fields_add_int(f, table[i].name, *(const int64_t *)member);
			break;
		case KIND_TEXT:
			fields_add(f, table[i].name, *(const char *const *)member ? *(const char *const *)member : "");
			break;
		case KIND_EXTRA:
			if (*(const char *const *)member)
				fields_add(f, table[i].name, *(const char *const *)member);
		}
	}
}

static bool range_is_good(int from, int to)
{
	return from == 0 ? to == 0 : from <= to;
}

static bool spec_read(const struct fields *f, struct order_spec *spec, struct err *e)
{
	memset(spec, 0, sizeof *spec);
	int count = table_read(spec_table, SPEC_COUNT, f, spec, e);
	if (count < 0 || !table_end(f, count, e))
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
	table_write(spec_table + from, to - from, f, spec);
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
		return err_set(e, "the %d further nodes after node number %d do not fit a step of %d nodes", order->more_nodes,
			       order->node_index, order->node_count);
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
	int count = order->fields ? table_read(order_table, ORDER_COUNT, order->fields, order, e) : -1;
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
	if (!table_end(order->fields, count + 1, e) || !order_fits(order, e) ||
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
	table_write(order_table, ORDER_COUNT, f, order);
	fields_add(f, "spec", spec_text);
	return f;
}
