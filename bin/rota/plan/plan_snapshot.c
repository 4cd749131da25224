/* plan_snapshot.c - converts the rows of a snapshot into results of libpq, which the leader's code (lead_load.c) then reads.
 *
 * Called by: `rota plan`.
 * Invariants:
 *  - The client reads the snapshot by the same code as the leader, so both compute the same plan. */
#include "bin/rota/plan/plan_snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/lead/lead_preempt.h"
#include "jobmgr/lead/lead_queue.h"
#include "jobmgr/lead/lead_resume.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "lib/db.h"

enum { COLUMNS_MOST = 64 };

static const struct {
	const char *member;
	enum lead_set set;
} members[] = {
	{"nodes", LEAD_NODES},	   {"partitions", LEAD_PARTITIONS}, {"running", LEAD_RUNNING},	     {"licenses", LEAD_LICENSES},
	{"outages", LEAD_OUTAGES}, {"queue", LEAD_QUEUE},	    {"candidates", LEAD_CANDIDATES},
};

/* Returns an array as PostgreSQL writes it: {1,2} or {"a","b"}; malloc'ed. */
static char *array_text(const json_t *array)
{
	struct db_array *list = db_array_new();
	const json_t *one;
	size_t i;
	char *text;

	json_array_foreach (array, i, one) {
		if (json_is_integer(one))
			db_array_int(list, json_integer_value(one));
		else
			db_array_text(list, json_string_value(one));
	}
	text = xstrdup(db_array_literal(list));
	db_array_free(list);
	return text;
}

/* Returns a value as PostgreSQL writes it, malloc'ed; NULL for null. */
static char *value_text(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_NULL:
		return NULL;
	case JSON_STRING:
		return xstrdup(json_string_value(value));
	case JSON_TRUE:
		return xstrdup("t");
	case JSON_FALSE:
		return xstrdup("f");
	case JSON_ARRAY:
		return array_text(value);
	default:
		return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	}
}

/* Returns a JSON list of objects as a result of libpq. All objects have the same members. */
static PGresult *objects_result(const json_t *rows)
{
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc columns[COLUMNS_MOST] = {0};
	const char *names[COLUMNS_MOST], *name;
	json_t *first = json_array_get(rows, 0), *value;
	int count = 0;

	json_object_foreach (first, name, value) {
		if (count == COLUMNS_MOST)
			break;
		names[count] = name;
		columns[count++].name = (char *)(uintptr_t)name;
	}
	if (!result || !PQsetResultAttrs(result, count, columns))
		die("out of memory");
	for (size_t row = 0; row < json_array_size(rows); row++) {
		for (int i = 0; i < count; i++) {
			value = json_object_get(json_array_get(rows, row), names[i]);
			char *text = value ? value_text(value) : NULL;

			if (!PQsetvalue(result, (int)row, i, text, text ? (int)strlen(text) : -1))
				die("out of memory");
			free(text);
		}
	}
	return result;
}

/* Read one value of a row that PostgreSQL has written as text, such as (1,"a ""b""",,t), from `at` on into `value`, which is as long
 * as the row. Sets *null for null. Returns the text behind the value; NULL if the row is malformed. */
static const char *value_read(const char *at, char *value, bool *null)
{
	bool quoted = false;

	*null = *at == ',' || *at == ')';
	for (; quoted || (*at != ',' && *at != ')'); at++) {
		if (*at == '"' && !(quoted && at[1] == '"')) {
			quoted = !quoted;
			continue;
		}
		if (*at == '"' || *at == '\\')
			at++;
		if (!*at)
			return NULL;
		*value++ = *at;
	}
	*value = '\0';
	return at;
}

/* Read a row of `count` values into row number `row` of a result. */
static bool row_read(PGresult *result, int row, const char *text, int count)
{
	char *value = xcalloc(1, strlen(text) + 1);
	bool good = *text == '(';

	for (int i = 0; i < count && good; i++) {
		bool null;

		text = value_read(text + 1, value, &null);
		good = text && *text == (i + 1 < count ? ',' : ')');
		if (good && !PQsetvalue(result, row, i, null ? NULL : value, null ? -1 : (int)strlen(value)))
			die("out of memory");
	}
	free(value);
	return good && text[1] == '\0';
}

/* Returns rows of a snapshot {columns, rows} as a result of libpq; NULL with an error if they are malformed. */
static PGresult *rows_result(const json_t *set, struct err *e)
{
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc columns[COLUMNS_MOST] = {0};
	const json_t *names = json_object_get(set, "columns"), *row;
	int count = (int)json_array_size(names);
	bool good = count > 0 && count <= COLUMNS_MOST;
	size_t i;

	for (int k = 0; k < count && good; k++) {
		columns[k].name = (char *)(uintptr_t)json_string_value(json_array_get(names, (size_t)k));
		good = columns[k].name != NULL;
	}
	if (!result || (good && !PQsetResultAttrs(result, count, columns)))
		die("out of memory");
	json_array_foreach (json_object_get(set, "rows"), i, row)
		good = good && json_is_string(row) && row_read(result, (int)i, json_string_value(row), count);
	if (good)
		return result;
	PQclear(result);
	err_set(e, "the job manager answered a malformed snapshot");
	err_hint(e, "Use the rota of the version that the job manager has.");
	return NULL;
}

static bool set_read(struct lead_rows *rows, enum lead_set kind, const json_t *set, struct err *e)
{
	PGresult *result = rows_result(set, e);
	bool good = result && lead_load(rows, kind, result, e);

	PQclear(result);
	return good;
}

/* Read the time, the claims of preemptions and the suspended steps that may resume. lead_load_tick() takes each of the two lists
 * as the text of a jsonb value, but objects_result() would write a list as an array of PostgreSQL. */
static bool tick_read(struct lead_rows *rows, const json_t *answer, struct err *e)
{
	const json_t *kept = json_object_get(answer, "claims"), *paused = json_object_get(answer, "resumes");
	char *claims = json_is_array(kept) ? json_dumps(kept, JSON_COMPACT) : NULL;
	char *resumes = json_is_array(paused) ? json_dumps(paused, JSON_COMPACT) : NULL;
	json_t *tick = json_pack("[{s:O, s:n, s:s?, s:b, s:s?}]", "now", json_object_get(answer, "now"), "next_at", "claims",
				 claims, "preempts", 0, "resumes", resumes);
	double next;
	PGresult *result = objects_result(tick);
	bool good = lead_load_tick(rows, result, &next, e);

	PQclear(result);
	json_decref(tick);
	free(claims);
	free(resumes);
	return good;
}

static bool pending_read(struct plan_snapshot *snapshot, const json_t *pending, struct err *e)
{
	struct db_array *jobs = db_array_new(), *steps = db_array_new();

	lead_queue_list_missing(snapshot->queue, snapshot->rows, jobs, steps);
	db_array_free(jobs);
	db_array_free(steps);
	PGresult *result = rows_result(pending, e);
	bool good = result && lead_queue_load(snapshot->queue, result, e);

	PQclear(result);
	lead_queue_fill(snapshot->queue, snapshot->rows);
	return good;
}

static int64_t integer_of(const PGresult *result, int row, const char *column)
{
	int number = PQfnumber(result, column);

	return number < 0 ? -1 : strtoll(PQgetvalue(result, row, number), NULL, 10);
}

/* Read the ranks of the pending steps. The requests are in the order of the queue. */
static bool ranks_read(struct plan_snapshot *snapshot, const json_t *answer, struct err *e)
{
	const struct schedule_snapshot *s = &snapshot->rows->snapshot;
	PGresult *requests = rows_result(json_object_get(answer, "pending"), e);
	size_t at = 0;

	if (!requests)
		return false;
	snapshot->rules = json_incref(json_object_get(answer, "ranks"));
	snapshot->ranks = schedule_arena_take(snapshot->rows->arena, s->pending_count, sizeof *snapshot->ranks);
	for (int row = 0; row < PQntuples(requests) && at < s->pending_count; row++) {
		const struct schedule_pending *step = &s->pending[at];

		if (step->job == integer_of(requests, row, "job_id") && step->step == integer_of(requests, row, "step_id"))
			snapshot->ranks[at++] = plan_rank_queued(s, snapshot->rules, step, integer_of(requests, row, "rank"));
	}
	PQclear(requests);
	return true;
}

bool plan_snapshot_read(struct plan_snapshot *snapshot, const json_t *answer, struct err *e)
{
	snapshot->rows = lead_rows_new(0);
	snapshot->queue = lead_queue_new();
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		const json_t *set = json_object_get(answer, members[i].member);

		if ((set || members[i].set != LEAD_CANDIDATES) && !set_read(snapshot->rows, members[i].set, set, e))
			return false;
	}
	if (!tick_read(snapshot->rows, answer, e) || !pending_read(snapshot, json_object_get(answer, "pending"), e))
		return false;
	if (!ranks_read(snapshot, answer, e))
		return false;
	lead_preempt_keep(snapshot->rows);
	lead_resume_choose(snapshot->rows, &schedule_policy_default);
	return true;
}

void plan_snapshot_free(struct plan_snapshot *snapshot)
{
	lead_rows_free(snapshot->rows);
	for (size_t i = 0; i < snapshot->submitted_count; i++)
		lead_rows_free(snapshot->submitted[i]);
	free(snapshot->submitted);
	lead_rows_free(snapshot->requested);
	lead_queue_free(snapshot->queue);
	json_decref(snapshot->rules);
}

/* Returns true if a step of a plan waits for another step of its job. */
static bool step_waits(const json_t *plan, json_int_t step)
{
	const json_t *edge;
	size_t i;

	json_array_foreach (json_object_get(plan, "edges"), i, edge)
		if (json_integer_value(json_object_get(edge, "step_id")) == step)
			return true;
	return false;
}

/* Returns a step of a plan as a row of api.schedule_pending. */
static json_t *step_row(const json_t *common, json_t *step, const char *partition)
{
	json_t *row = json_is_object(common) ? json_deep_copy(common) : json_object(), *mem;
	static const char *const absent[] = {"with_count",  "same_as_step", "other_than_step", "same_nodes",
					     "other_nodes", "data_nodes",   "admitted",	       "reservation",
					     "array_index", "with_set",	    "image",	       "variables"};

	json_object_update(row, step);
	mem = json_object_get(row, "mem_mb");
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		json_object_set_new(row, absent[i], json_null());
	json_object_set_new(row, "job_id", json_integer(0));
	json_object_set_new(row, "request_id", json_integer(0));
	json_object_set_new(row, "attempt", json_integer(0));
	json_object_set_new(row, "tier", json_integer(0)); /* plan_rank.c computes it */
	json_object_set_new(row, "steady", json_true());
	json_object_set(row, "features", json_object_get(row, "constraint"));
	json_object_set(row, "array_size", json_object_get(json_object_get(row, "array"), "size"));
	if (!json_object_get(row, "array_size"))
		json_object_set_new(row, "array_size", json_null());
	if (json_is_integer(mem) && json_integer_value(mem) == 0) /* all memory of the node */
		json_object_set_new(row, "mem_mb", json_integer(-1));
	if (!json_is_string(json_object_get(row, "partition")))
		json_object_set_new(row, "partition", json_string(partition));
	return row;
}

/* Give a step without a time limit the limit of its partition. */
static void step_limit(const struct lead_rows *rows, struct schedule_pending *step)
{
	for (size_t i = 0; i < rows->snapshot.partition_count && step->time_limit_s == 0; i++)
		if (!strcmp(rows->snapshot.partitions[i].name, step->partition))
			step->time_limit_s = rows->snapshot.partitions[i].max_time_s;
}

const struct schedule_pending *plan_snapshot_requests(struct plan_snapshot *snapshot, const json_t *set, size_t count,
						      struct err *e)
{
	snapshot->requested = lead_rows_new(0);
	struct schedule_pending *requests = schedule_arena_take(snapshot->rows->arena, count, sizeof *requests);

	if (!set_read(snapshot->requested, LEAD_PENDING, set, e))
		return NULL;
	if (snapshot->requested->snapshot.pending_count != count) {
		err_set(e, "the job manager answered %zu requests of %zu steps", snapshot->requested->snapshot.pending_count,
			count);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		requests[i] = snapshot->requested->snapshot.pending[i];
		requests[i].array_free_slots = -1;
	}
	return requests;
}

/* Insert a step into the queue after all steps that plan_rank_is_ahead() puts ahead of it. The lists must have room for it. */
static void step_insert(struct plan_snapshot *snapshot, struct schedule_pending *all, size_t count,
			const struct schedule_pending *step, const struct plan_rank *rank)
{
	size_t at = count;

	while (at > 0 && !plan_rank_is_ahead(&snapshot->ranks[at - 1], rank))
		at--;
	memmove(&all[at + 1], &all[at], (count - at) * sizeof *all);
	memmove(&snapshot->ranks[at + 1], &snapshot->ranks[at], (count - at) * sizeof *snapshot->ranks);
	all[at] = *step;
	all[at].tier = rank->tier;
	snapshot->ranks[at] = *rank;
}

/* Add the steps in `read` to the queue; `list`: their rows. */
static void steps_add(struct plan_snapshot *snapshot, const struct lead_rows *read, const json_t *job, const json_t *list)
{
	struct lead_rows *rows = snapshot->rows;
	size_t before = rows->snapshot.pending_count, added = read->snapshot.pending_count;
	struct schedule_pending *all = schedule_arena_take(rows->arena, before + added, sizeof *all);
	struct plan_rank *ranks = schedule_arena_take(rows->arena, before + added, sizeof *ranks);

	if (before) {
		memcpy(all, rows->snapshot.pending, before * sizeof *all);
		memcpy(ranks, snapshot->ranks, before * sizeof *ranks);
	}
	snapshot->ranks = ranks;
	for (size_t i = 0; i < added; i++) {
		struct schedule_pending step = read->snapshot.pending[i];
		bool is_eternal = json_is_true(json_object_get(json_array_get(list, i), "eternal"));
		struct plan_rank rank = plan_rank_submitted(&rows->snapshot, snapshot->rules, job, step.partition, is_eternal);

		step.array_free_slots = -1;
		step_limit(rows, &step);
		step_insert(snapshot, all, before + i, &step, &rank);
	}
	rows->snapshot.pending = rows->pending = all;
	rows->snapshot.pending_count = before + added;
}

size_t plan_snapshot_submit(struct plan_snapshot *snapshot, const json_t *plan, const char *partition, struct err *e)
{
	struct lead_rows *read = lead_rows_new(0);
	json_t *list = json_array();
	json_t *step;
	size_t i, waiting = 0;

	json_array_foreach (json_object_get(plan, "steps"), i, step) {
		if (step_waits(plan, json_integer_value(json_object_get(step, "step_id"))))
			waiting++;
		else
			json_array_append_new(list, step_row(json_object_get(plan, "common"), step, partition));
	}
	PGresult *result = json_array_size(list) ? objects_result(list) : NULL; /* an empty list names no columns */

	if (!result || lead_load(read, LEAD_PENDING, result, e)) {
		steps_add(snapshot, read, json_object_get(plan, "job"), list);
		snapshot->submitted =
			xrealloc(snapshot->submitted, (snapshot->submitted_count + 1) * sizeof *snapshot->submitted);
		snapshot->submitted[snapshot->submitted_count++] = read; /* kept: the queue points to its names */
	} else {
		lead_rows_free(read);
		waiting = SIZE_MAX;
	}
	PQclear(result);
	json_decref(list);
	return waiting;
}
