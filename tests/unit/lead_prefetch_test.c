/* lead_prefetch_test.c - launch rows that are read in advance: those of arrays of which the last cycle started elements. */
#include "tests/unit/unit.h"

#include "jobmgr/lead/lead_prefetch.h"

/* A cycle with three pending steps: an array, a single step and an array in a job group; and its starts. */
static const struct lead_key keys[] = {{.request_id = 0}, {.request_id = 4}, {.request_id = 1}};
static const struct lead_launch launches[] = {
	{.job_id = 7, .request_id = 0, .array_size = 100},
	{.job_id = 7, .request_id = 4},
	{.job_id = 8, .request_id = 1, .array_size = 100, .group_name = "g"},
};
static const struct schedule_start starts[] = {
	{.pending = 0, .job = 7}, {.pending = 0, .job = 7}, {.pending = 1, .job = 7}, {.pending = 2, .job = 8}};

static const struct lead_rows all = {.keys = keys, .launches = launches, .launch_count = 3};

/* The same rows with the first array in the queue again. */
static struct schedule_pending queue[] = {{.job = 7, .step = 0, .array_size = 100}};
static const struct lead_rows waits = {.keys = keys,
				       .launches = launches,
				       .launch_count = 3,
				       .pending = queue,
				       .snapshot = {.pending = queue, .pending_count = 1}};

static const char *asked(const struct lead_prefetch *x, struct db_array *jobs, struct db_array *requests, size_t count)
{
	assert_int_equal(lead_prefetch_list(x, jobs, requests), count);
	return db_array_literal(jobs);
}

static void arrays_that_started(void **state)
{
	struct lead_prefetch x = {.count = 0};
	struct db_array *jobs = db_array_new(), *requests = db_array_new();

	(void)state;
	assert_string_equal(asked(&x, jobs, requests, 0), "{}");
	lead_prefetch_note(&x, &all, &(struct schedule_result){.starts = starts, .start_count = 4}, false);
	assert_string_equal(asked(&x, jobs, requests, 1), "{7}");
	assert_string_equal(db_array_literal(requests), "{0}");
	/* A row was prefetched, and no element of its array started: the row is kept if elements can be pre-dispatched while the
	 * array waits. */
	lead_prefetch_note(&x, &waits, &(struct schedule_result){.starts = starts + 2, .start_count = 2}, true);
	assert_int_equal(x.count, 1);
	lead_prefetch_note(&x, &all, &(struct schedule_result){.starts = starts + 2, .start_count = 2}, true);
	assert_int_equal(x.count, 0);
	lead_prefetch_note(&x, &waits, &(struct schedule_result){.starts = starts + 2, .start_count = 2}, false);
	assert_string_equal(asked(&x, jobs, requests, 0), "{7}");
	db_array_free(jobs);
	db_array_free(requests);
}

static void what_is_there(void **state)
{
	const struct lead_rows some = {.keys = keys, .launches = launches, .launch_count = 2}, none = {.keys = keys};

	(void)state;
	assert_true(lead_prefetch_is_complete(&all, &(struct schedule_result){.starts = starts, .start_count = 4}));
	assert_true(lead_prefetch_is_complete(&some, &(struct schedule_result){.starts = starts, .start_count = 3}));
	assert_false(lead_prefetch_is_complete(&some, &(struct schedule_result){.starts = starts, .start_count = 4}));
	assert_false(lead_prefetch_is_complete(&none, &(struct schedule_result){.starts = starts, .start_count = 1}));
	assert_true(lead_prefetch_is_complete(&none, &(struct schedule_result){.start_count = 0}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_that_started), cmocka_unit_test(what_is_there)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
