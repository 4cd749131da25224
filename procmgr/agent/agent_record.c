/* agent_record.c - journal records as JSON for node_report.
 *
 * Called by the agent's report. What always holds: times leave as ages, since the database's clock is the only one it believes
 * (of a pause the node's clock goes along, by which the database knows one that it was told before); numbers are JSON numbers;
 * text is valid UTF-8 whatever the record held. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procmgr/agent/agent_parts.h"

static const char *const numbers[] = {
	"job",	       "step",	     "attempt", "task",	  "exit",	"signal",      "pid",	"session", "usec",    "user_usec",
	"system_usec", "max_rss_kb", "minflt",	"majflt", "read_bytes", "write_bytes", "nvcsw", "nivcsw",  "peak_mb", "cpu_usec",
};

static bool is_number(const char *name)
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strcmp(numbers[i], name) == 0)
			return true;
	return false;
}

static json_t *text(const char *value)
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

static json_t *age(const char *at, int64_t now)
{
	int64_t usec = now - strtoll(at, NULL, 10);
	return json_integer(usec > 0 ? usec : 0);
}

/* What a record leaves open is left out. */
static bool is_nothing(const char *name, const char *value)
{
	return !*value || strcmp(value, "-1") == 0 || (strcmp(value, "0") == 0 && strcmp(name, "signal") == 0);
}

static void add_field(json_t *json, const char *name, const char *value, int64_t now)
{
	if (is_nothing(name, value))
		return;
	if (strcmp(name, "at") == 0)
		json_object_set_new(json, "age_us", age(value, now));
	else if (strcmp(name, "start_usec") == 0)
		json_object_set_new(json, "started_age_us", age(value, now));
	else if (is_number(name))
		json_object_set_new(json, name, json_integer(strtoll(value, NULL, 10)));
	else
		json_object_set_new(json, name, text(value));
}

json_t *agent_record_json(const struct fields *record, int64_t node_id, int64_t now)
{
	const char *kind = fields_get(record, "kind"), *again = fields_get(record, "again"), *at = fields_get(record, "at");
	struct record_key key;
	struct err e;
	if (!kind || !record_key_read(record, &key, &e))
		return NULL;
	/* That an order was taken is said by the order's number. */
	if (strcmp(kind, "used") == 0)
		return NULL;
	/* A second copy of an order was refused, the first one counts. */
	if (strcmp(kind, "refused") == 0 && again && strcmp(again, "1") == 0)
		return NULL;
	json_t *json = json_object();
	if (at && (strcmp(kind, "suspended") == 0 || strcmp(kind, "resumed") == 0))
		json_object_set_new(json, "clock", json_integer(strtoll(at, NULL, 10)));
	for (int i = 0; i < fields_count(record); i++)
		add_field(json, fields_name(record, i), fields_value(record, i), now);
	json_object_set_new(json, "node", json_integer(node_id)); /* the database's number in place of ours */
	return json;
}

/* When its keeper came, where the records are of that and of the attempt's readiness; NULL: they are not. */
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

/* The last of the list, where it is of this attempt: then this is one more node of it. */
static json_t *same_attempt(const json_t *ready, const struct record_key *key)
{
	json_t *last = json_array_get(ready, json_array_size(ready) - 1);
	bool same = json_integer_value(json_object_get(last, "job")) == key->job_id &&
		    json_integer_value(json_object_get(last, "step")) == key->step_id &&
		    json_integer_value(json_object_get(last, "attempt")) == key->attempt;
	return same ? last : NULL;
}

bool agent_record_ready(json_t *ready, int64_t node_id, struct fields *const *records, int count, int64_t now)
{
	struct record_key key;
	struct err e;
	const char *at = ready_since(records, count);
	if (!at || !record_key_read(records[0], &key, &e))
		return false;
	json_t *one = same_attempt(ready, &key);
	if (!one) {
		one = json_pack("{s:I, s:i, s:i, s:o, s:[]}", "job", (json_int_t)key.job_id, "step", key.step_id, "attempt",
				key.attempt, "age_us", age(at, now), "nodes");
		json_array_append_new(ready, one);
	}
	json_array_append_new(json_object_get(one, "nodes"), json_integer(node_id));
	return true;
}

/* What the life of an attempt on a node may have records of, once each. */
enum { LIFE_DONE = 5, LIFE_END, LIFE_KINDS };
static const char *const life_kinds[LIFE_KINDS] = {"used", "keeper", "ready", "run", "task", [LIFE_DONE] = "done", [LIFE_END] = "end"};

static int life_kind(const struct fields *record)
{
	const char *kind = fields_get(record, "kind");
	int i = 0;
	while (i < LIFE_KINDS && (!kind || strcmp(life_kinds[i], kind) != 0))
		i++;
	return i;
}

/* Whether these are of no other kinds, and all is over. */
static bool is_life(struct fields *const *records, int count)
{
	int had[LIFE_KINDS + 1] = {0};
	for (int i = 0; i < count; i++) {
		int kind = life_kind(records[i]);
		if (kind == LIFE_KINDS || had[kind]++)
			return false;
	}
	return had[LIFE_DONE] && had[LIFE_END];
}

/* Its members beside those that all records have; of the process it began as, the session is told. */
static void add_members(json_t *life, const struct fields *record, int64_t now)
{
	static const char *const left_out[] = {"kind", "job", "step", "attempt", "node", "at", "pid"};
	for (int i = 0; i < fields_count(record); i++) {
		size_t k = 0;
		while (k < sizeof left_out / sizeof *left_out && strcmp(left_out[k], fields_name(record, i)) != 0)
			k++;
		if (k == sizeof left_out / sizeof *left_out)
			add_field(life, fields_name(record, i), fields_value(record, i), now);
	}
}

static void add_record(json_t *life, const struct fields *record, int64_t node_id, int64_t now)
{
	const char *kind = fields_get(record, "kind"), *at = fields_get(record, "at");
	char name[16];
	if (strcmp(kind, "used") == 0)
		return;
	if (strcmp(kind, "task") == 0) {
		json_object_set_new(life, kind, agent_record_json(record, node_id, now));
	} else if (strcmp(kind, "ready") == 0) {
		json_object_set_new(life, kind, json_true());
	} else {
		snprintf(name, sizeof name, "%s_us", kind);
		json_object_set_new(life, name, age(at ? at : "0", now));
		add_members(life, record, now);
	}
}

bool agent_record_life(json_t *lives, int64_t node_id, struct fields *const *records, int count, int64_t now)
{
	struct record_key key;
	struct err e;
	if (!is_life(records, count) || !record_key_read(records[0], &key, &e))
		return false;
	json_t *life = json_pack("{s:s, s:I, s:I, s:i, s:i}", "kind", "life", "node", (json_int_t)node_id, "job",
				 (json_int_t)key.job_id, "step", key.step_id, "attempt", key.attempt);
	for (int i = 0; i < count; i++)
		add_record(life, records[i], node_id, now);
	json_array_append_new(lives, life);
	return true;
}
