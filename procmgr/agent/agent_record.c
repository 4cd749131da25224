/* agent_record.c - makes JSON for api.node_report from records of the journal.
 *
 * Called by: agent_report.c.
 * Invariants:
 * - Times are sent by the node's clock. The database converts them (internal.report_read), and recognizes by them a suspension
 *   that it has already recorded.
 * - Numbers are JSON numbers. Text is valid UTF-8 whatever bytes the record had. */
#include "procmgr/agent/agent_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const numbers[] = {
	"job",	      "step",	     "attempt",	    "task",	  "exit",    "signal",	       "pid",	   "session",
	"usec",	      "user_usec",   "system_usec", "max_rss_kb", "minflt",  "majflt",	       "rchar",	   "wchar",
	"read_bytes", "write_bytes", "nvcsw",	    "nivcsw",	  "peak_mb", "cgroup_peak_mb", "cpu_usec", "node_uj",
};

static bool is_number(const char *name)
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strcmp(numbers[i], name) == 0)
			return true;
	return false;
}

static json_t *text_json(const char *value)
{
	json_t *json = json_string(value);
	if (json)
		return json;
	char *copy = xstrdup(value);
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	json = json_string(copy);
	free(copy);
	return json;
}

static json_t *number_json(const char *value)
{
	return json_integer(strtoll(value, NULL, 10));
}

/* Is a field left out of the JSON, because it is empty, unknown or only for agent_energy.c? */
static bool is_empty(const char *name, const char *value)
{
	return !*value || strcmp(name, "since") == 0 || strcmp(name, "boot") == 0 || strcmp(value, "-1") == 0 ||
	       (strcmp(value, "0") == 0 && strcmp(name, "signal") == 0);
}

static void add_field(json_t *json, const char *name, const char *value)
{
	if (is_empty(name, value))
		return;
	if (strcmp(name, "at") == 0)
		json_object_set_new(json, "at_us", number_json(value));
	else if (strcmp(name, "start_usec") == 0)
		json_object_set_new(json, "started_us", number_json(value));
	else if (is_number(name))
		json_object_set_new(json, name, number_json(value));
	else
		json_object_set_new(json, name, text_json(value));
}

json_t *agent_record_json(const struct fields *record, int64_t node_id)
{
	const char *kind = fields_get(record, "kind"), *again = fields_get(record, "again"), *gone = fields_get(record, "gone");
	struct record_key key;
	struct err e;
	if (!kind || !record_key_read(record, &key, &e))
		return NULL;
	/* The database gets the id of an accepted order from agent_order_report, so its record `used` is left out. */
	if (strcmp(kind, "used") == 0)
		return NULL;
	/* A launch request refused because it was accepted before is not reported while the attempt is on the node: the attempt's
	 * own records are. */
	bool repeated = strcmp(kind, "refused") == 0 && again && strcmp(again, "1") == 0;
	if (repeated && !gone)
		return NULL;
	json_t *json = json_object();
	for (int i = 0; i < fields_count(record); i++)
		add_field(json, fields_name(record, i), fields_value(record, i));
	if (repeated)
		json_object_set_new(json, "kind", json_string("gone"));
	/* The node's database id replaces the number of a virtual node. */
	json_object_set_new(json, "node", json_integer(node_id));
	return json;
}

/* Returns the time when the keeper started, if the records only say that the attempt is ready; otherwise NULL. */
static const char *ready_since(struct fields *const *records, int count)
{
	const char *at = NULL;
	bool ready = false;
	for (int i = 0; i < count; i++) {
		const char *kind = fields_get(records[i], "kind");
		if (kind && strcmp(kind, "keeper") == 0)
			at = fields_get(records[i], "at");
		else if (kind && strcmp(kind, "ready") == 0)
			ready = true;
		else if (!kind || strcmp(kind, "used") != 0)
			return NULL;
	}
	return ready ? at : NULL;
}

/* Returns the last entry of the list if it is of the same attempt on another node; otherwise NULL. */
static json_t *find_attempt(const json_t *ready, const struct record_key *key)
{
	json_t *last = json_array_get(ready, json_array_size(ready) - 1);
	bool same = json_integer_value(json_object_get(last, "job")) == key->job_id &&
		    json_integer_value(json_object_get(last, "step")) == key->step_id &&
		    json_integer_value(json_object_get(last, "attempt")) == key->attempt;
	return same ? last : NULL;
}

bool agent_record_add_ready(json_t *ready, int64_t node_id, struct fields *const *records, int count)
{
	struct record_key key;
	struct err e;
	const char *at = ready_since(records, count);
	if (!at || !record_key_read(records[0], &key, &e))
		return false;
	json_t *one = find_attempt(ready, &key);
	if (!one) {
		one = json_pack("{s:I, s:i, s:i, s:o, s:[]}", "job", (json_int_t)key.job_id, "step", key.step_id, "attempt",
				key.attempt, "at_us", number_json(at), "nodes");
		json_array_append_new(ready, one);
	}
	json_array_append_new(json_object_get(one, "nodes"), json_integer(node_id));
	return true;
}

/* Kinds of records that can be coalesced. Each may occur once in an attempt. */
enum { KIND_DONE = 5, KIND_END, KIND_COUNT };
static const char *const kinds[KIND_COUNT] = {"used", "keeper", "ready", "run", "task", [KIND_DONE] = "done", [KIND_END] = "end"};

static int kind_index(const struct fields *record)
{
	const char *kind = fields_get(record, "kind");
	int i = 0;
	while (i < KIND_COUNT && (!kind || strcmp(kinds[i], kind) != 0))
		i++;
	return i;
}

/* Do the records cover the attempt to its end, and are all of them of kinds that can be coalesced? */
static bool can_coalesce(struct fields *const *records, int count)
{
	int had[KIND_COUNT + 1] = {0};
	for (int i = 0; i < count; i++) {
		int kind = kind_index(records[i]);
		if (kind == KIND_COUNT || had[kind]++)
			return false;
	}
	return had[KIND_DONE] && had[KIND_END];
}

/* Add the fields of a record that not all kinds of records have. The pid is left out, since `session` has the same number. */
static void add_own_fields(json_t *one, const struct fields *record)
{
	static const char *const left_out[] = {"kind", "job", "step", "attempt", "node", "at", "pid"};
	for (int i = 0; i < fields_count(record); i++) {
		size_t k = 0;
		while (k < sizeof left_out / sizeof *left_out && strcmp(left_out[k], fields_name(record, i)) != 0)
			k++;
		if (k == sizeof left_out / sizeof *left_out)
			add_field(one, fields_name(record, i), fields_value(record, i));
	}
}

static void coalesce_record(json_t *one, const struct fields *record, int64_t node_id)
{
	const char *kind = fields_get(record, "kind"), *at = fields_get(record, "at");
	char name[16];
	if (strcmp(kind, "used") == 0)
		return;
	if (strcmp(kind, "task") == 0) {
		json_object_set_new(one, kind, agent_record_json(record, node_id));
	} else if (strcmp(kind, "ready") == 0) {
		json_object_set_new(one, kind, json_true());
	} else {
		snprintf(name, sizeof name, "%s_us", kind);
		json_object_set_new(one, name, number_json(at ? at : "0"));
		add_own_fields(one, record);
	}
}

bool agent_record_add_coalesced(json_t *coalesced, int64_t node_id, struct fields *const *records, int count)
{
	struct record_key key;
	struct err e;
	if (!can_coalesce(records, count) || !record_key_read(records[0], &key, &e))
		return false;
	json_t *one = json_pack("{s:s, s:I, s:I, s:i, s:i}", "kind", "life", "node", (json_int_t)node_id, "job",
				(json_int_t)key.job_id, "step", key.step_id, "attempt", key.attempt);
	for (int i = 0; i < count; i++)
		coalesce_record(one, records[i], node_id);
	json_array_append_new(coalesced, one);
	return true;
}
