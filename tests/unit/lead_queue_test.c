/* lead_queue_test.c - requests of steps are read only when the step is new or has changed. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "jobmgr/lead/lead_queue.h"
#include "jobmgr/schedule/schedule_arena.h"

enum { MANY = 5000, WIDTH = 40, ARRAYS = 1000000 };

/* The cache under test, and the rows that the database returns as the queue of a scheduling cycle. */
struct world {
	struct lead_queue *queue;
	struct lead_rows *rows; /* rows of the running cycle */
	struct lead_queued queue_rows[MANY];
	size_t count;
};

static void put(struct world *w, int64_t job, int64_t version)
{
	w->queue_rows[w->count++] = (struct lead_queued){.job = job, .version = version, .stamp = 1, .free_slots = 3};
}

/* Returns the database's answer with the request of step 0 of each of these jobs, which all have `cpus` and `steady`. Step 0 of a
 * job with a number from ARRAYS on is an array. */
static PGresult *answer(const int64_t *jobs, size_t count, int cpus, bool steady)
{
	static const char *const names[] = {
		"job_id",      "step_id",	  "name",	   "partition",	 "nodes_min",	   "nodes_max",
		"ntasks",      "ntasks_per_node", "cpus_per_task", "mem_mb",	 "mem_per_cpu_mb", "gres",
		"licenses",    "exclusive",	  "features",	   "nodelist",	 "exclude",	   "time_limit_s",
		"time_min_s",  "deadline_at",	  "with_set",	   "with_count", "same_as_step",   "other_than_step",
		"same_nodes",  "other_nodes",	  "array_size",	   "admitted",	 "request_id",	   "attempt",
		"array_index", "steady",	  "reservation",   "data_nodes", "image",	   "tier",
		"prep",	       "variables"};
	enum { COLUMNS = sizeof names / sizeof *names };
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc columns[COLUMNS] = {0};

	for (int i = 0; i < COLUMNS; i++)
		columns[i].name = (char *)(uintptr_t)names[i];
	assert_true(PQsetResultAttrs(result, COLUMNS, columns));
	for (size_t row = 0; row < count; row++) {
		for (int i = 0; i < COLUMNS; i++) {
			char value[WIDTH] = "";

			if (strcmp(names[i], "job_id") == 0)
				snprintf(value, sizeof value, "%lld", (long long)jobs[row]);
			else if (strcmp(names[i], "step_id") == 0)
				snprintf(value, sizeof value, "0");
			else if (strcmp(names[i], "cpus_per_task") == 0)
				snprintf(value, sizeof value, "%d", cpus);
			else if (strcmp(names[i], "array_size") == 0 && jobs[row] >= ARRAYS)
				snprintf(value, sizeof value, "10");
			else if (strcmp(names[i], "steady") == 0)
				snprintf(value, sizeof value, "%s", steady ? "t" : "f");
			assert_true(PQsetvalue(result, (int)row, i, value, *value ? (int)strlen(value) : -1));
		}
	}
	return result;
}

/* Begin a scheduling cycle with the queue. Returns the number of steps whose requests are not cached. */
static size_t ask(struct world *w)
{
	struct db_array *jobs = db_array_new(), *steps = db_array_new();
	size_t count;

	w->rows = lead_rows_new(0);
	w->rows->queue = w->queue_rows;
	w->rows->queue_count = w->count;
	count = lead_queue_list_missing(w->queue, w->rows, jobs, steps);
	db_array_free(jobs);
	db_array_free(steps);
	return count;
}

static void learn(struct world *w, int64_t job, int cpus, bool steady)
{
	PGresult *result = answer(&job, 1, cpus, steady);
	struct err e = {0};

	if (!lead_queue_load(w->queue, result, &e))
		fail_msg("%s", e.message);
	PQclear(result);
}

/* End the scheduling cycle. Its pending steps must be `expected`: "job:cpus:free_slots " for each. */
static void ends_with(struct world *w, const char *expected)
{
	char text[256] = "";

	lead_queue_fill(w->queue, w->rows);
	for (size_t i = 0; i < w->rows->snapshot.pending_count; i++) {
		const struct schedule_pending *p = &w->rows->snapshot.pending[i];
		size_t length = strlen(text);

		snprintf(text + length, sizeof text - length, "%lld:%d:%d ", (long long)p->job, p->cpus_per_task,
			 p->array_free_slots);
	}
	assert_string_equal(text, expected);
	lead_rows_free(w->rows);
}

static struct world *world_new(void)
{
	struct world *w = xcalloc(1, sizeof *w);

	w->queue = lead_queue_new();
	return w;
}

static void world_free(struct world *w)
{
	lead_queue_free(w->queue);
	free(w);
}

static void kept(void **state)
{
	struct world *w = world_new();

	(void)state;
	put(w, 7, 1);
	put(w, 5, 1);
	assert_int_equal(ask(w), 2);
	learn(w, 5, 1, true);
	learn(w, 7, 2, true);
	ends_with(w, "7:2:-1 5:1:-1 ");
	/* Only the order has changed. */
	w->count = 0;
	put(w, 5, 1);
	put(w, 7, 1);
	assert_int_equal(ask(w), 0);
	ends_with(w, "5:1:-1 7:2:-1 ");
	/* One step has changed, one is new, one has left the queue. */
	w->count = 0;
	put(w, 7, 2);
	put(w, 9, 1);
	assert_int_equal(ask(w), 2);
	learn(w, 7, 4, true);
	learn(w, 9, 1, true);
	ends_with(w, "7:4:-1 9:1:-1 ");
	/* A step that had left the queue is back, unchanged. */
	w->count = 0;
	put(w, 5, 1);
	assert_int_equal(ask(w), 0);
	ends_with(w, "5:1:-1 ");
	lead_queue_drop(w->queue);
	assert_int_equal(ask(w), 1);
	learn(w, 5, 8, true);
	ends_with(w, "5:8:-1 ");
	world_free(w);
}

/* The request of a step with peers is read in each cycle. */
static void not_steady(void **state)
{
	struct world *w = world_new();

	(void)state;
	put(w, 5, 1);
	for (int cycle = 1; cycle < 4; cycle++) {
		assert_int_equal(ask(w), 1);
		learn(w, 5, cycle, false);
		ends_with(w, cycle == 1 ? "5:1:-1 " : cycle == 2 ? "5:2:-1 " : "5:3:-1 ");
	}
	world_free(w);
}

/* The request of an array is read once; each answer with the queue says how many of its elements may start. */
static void array(void **state)
{
	static const int skip[] = {5, 7};
	struct world *w = world_new();
	const struct schedule_pending *p;

	(void)state;
	put(w, ARRAYS, 1);
	assert_int_equal(ask(w), 1);
	learn(w, ARRAYS, 2, true);
	ends_with(w, "1000000:2:3 ");
	w->queue_rows[0].next = 4;
	w->queue_rows[0].skip = skip;
	w->queue_rows[0].skip_count = 2;
	w->queue_rows[0].free_slots = 1;
	assert_int_equal(ask(w), 0);
	lead_queue_fill(w->queue, w->rows);
	p = w->rows->snapshot.pending;
	assert_int_equal(p->array_free_slots, 1);
	assert_int_equal(p->array_next, 4);
	assert_int_equal(p->array_skip_count, 2);
	assert_int_equal(p->array_skip[1], 7);
	lead_rows_free(w->rows);
	world_free(w);
}

/* A step that has left the queue when its request is read is not in the scheduling cycle, nor is one whose request could not be
 * read. */
static void unanswered(void **state)
{
	struct world *w = world_new();

	(void)state;
	put(w, 5, 1);
	put(w, 7, 1);
	assert_int_equal(ask(w), 2);
	learn(w, 5, 1, true);
	ends_with(w, "5:1:-1 ");
	w->queue_rows[0].version = 2;
	assert_int_equal(ask(w), 2);
	ends_with(w, "");
	assert_int_equal(ask(w), 2);
	learn(w, 5, 2, true);
	learn(w, 7, 2, true);
	ends_with(w, "5:2:-1 7:2:-1 ");
	world_free(w);
}

/* Another stamp: partitions or reservations have changed, so every cached request is dropped. */
static void stamped(void **state)
{
	struct world *w = world_new();

	(void)state;
	put(w, 5, 1);
	assert_int_equal(ask(w), 1);
	learn(w, 5, 1, true);
	ends_with(w, "5:1:-1 ");
	w->queue_rows[0].stamp = 2;
	assert_int_equal(ask(w), 1);
	learn(w, 5, 2, true);
	ends_with(w, "5:2:-1 ");
	assert_int_equal(ask(w), 0);
	ends_with(w, "5:2:-1 ");
	world_free(w);
}

/* Run a scheduling cycle over a queue of MANY jobs from `first` on. Returns the number of requests that were not cached. */
static size_t pass_over(struct world *w, int64_t first)
{
	static int64_t jobs[MANY];
	PGresult *result;
	struct err e = {0};
	size_t asked;

	w->count = 0;
	for (int i = 0; i < MANY; i++) {
		jobs[i] = first + i;
		put(w, jobs[i], 1);
	}
	asked = ask(w);
	result = answer(jobs, asked, 1, true); /* the database answers all requested rows, or none of them */
	assert_true(lead_queue_load(w->queue, result, &e));
	PQclear(result);
	lead_queue_fill(w->queue, w->rows);
	assert_int_equal(w->rows->snapshot.pending_count, MANY);
	assert_int_equal(w->rows->snapshot.pending[MANY - 1].job, jobs[MANY - 1]);
	lead_rows_free(w->rows);
	return asked;
}

/* The cache drops requests of steps that have left the queue: it holds at most a few times as many as a cycle needs. A short scan
 * drops none. */
static void bounded(void **state)
{
	struct world *w = world_new();

	(void)state;
	for (int64_t queue = 0; queue < 3; queue++)
		assert_int_equal(pass_over(w, 1 + queue * MANY), MANY);
	assert_int_equal(pass_over(w, 1 + 2 * MANY), MANY);
	assert_int_equal(pass_over(w, 1 + 2 * MANY), 0);
	w->count = 1;
	assert_int_equal(ask(w), 0);
	lead_rows_free(w->rows);
	assert_int_equal(pass_over(w, 1 + 2 * MANY), 0);
	assert_int_equal(pass_over(w, 1), MANY);
	world_free(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept),	   cmocka_unit_test(not_steady), cmocka_unit_test(unanswered),
		cmocka_unit_test(stamped), cmocka_unit_test(bounded),	 cmocka_unit_test(array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
