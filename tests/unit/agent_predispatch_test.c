/* agent_predispatch_test.c - how many pre-dispatched elements may start on a node. */
#include "tests/unit/unit.h"

#include <limits.h>
#include <sys/stat.h>

#include "procmgr/agent/agent_predispatch.h"

static const struct record_key keys[] = {{812, 3, 1, 0}, {812, 4, 1, 0}, {812, 9, 1, 0}, {813, 3, 1, 0}};
static const struct agent_array array = {.job_id = 812, .first = 3, .last = 8, .concurrency = 2};

static int setup(void **state)
{
	return unit_folder_make(state) == 0 && chdir(unit_folder) == 0 && mkdir("spool", 0700) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	return chdir("/") == 0 ? unit_folder_remove(state) : -1;
}

/* Handle a journal record of this kind. Returns whether the attempt ended suspended. */
static bool add_record(struct agent_predispatch *p, const struct record_key *key, const char *kind, const char *again)
{
	struct fields *record = record_new(kind, key);
	fields_add(record, "again", again);
	bool lost = agent_predispatch_record(p, key, record);
	fields_free(record);
	return lost;
}

/* Only the array's own elements count, each once. An end that is read again changes nothing. */
static void test_free_slots(void **state)
{
	struct agent_predispatch *p = agent_predispatch_new(false);
	(void)state;
	assert_int_equal(agent_predispatch_free_slots(p, &array), 2);
	agent_predispatch_start(p, &keys[0]);
	agent_predispatch_start(p, &keys[0]);
	agent_predispatch_start(p, &keys[2]);
	agent_predispatch_start(p, &keys[3]);
	assert_int_equal(agent_predispatch_free_slots(p, &array), 1);
	assert_true(agent_predispatch_runs(p, &keys[0]));
	assert_false(agent_predispatch_runs(p, &keys[1]));
	agent_predispatch_start(p, &keys[1]);
	assert_int_equal(agent_predispatch_free_slots(p, &array), 0);
	assert_false(add_record(p, &keys[0], "done", ""));
	assert_false(add_record(p, &keys[0], "refused", "1"));
	assert_int_equal(agent_predispatch_free_slots(p, &array), 0);
	assert_false(add_record(p, &keys[0], "end", ""));
	assert_false(add_record(p, &keys[0], "end", ""));
	assert_int_equal(agent_predispatch_free_slots(p, &array), 1);
	assert_false(add_record(p, &keys[1], "refused", "0"));
	assert_int_equal(agent_predispatch_free_slots(p, &array), 2);
	agent_predispatch_free(p);
}

/* The CPUs of an attempt that ends suspended belong to another step already. */
static void test_suspended(void **state)
{
	struct agent_array arrays[] = {array, array};
	struct agent_predispatch *p = agent_predispatch_new(false);
	(void)state;
	arrays[1].job_id = 900;
	agent_predispatch_start(p, &keys[0]);
	agent_predispatch_start(p, &keys[1]);
	assert_false(add_record(p, &keys[0], "suspended", ""));
	assert_int_equal(agent_predispatch_free_slots(p, &arrays[0]), 0);
	assert_true(add_record(p, &keys[0], "end", ""));
	for (int i = 0; i < 2; i++)
		agent_predispatch_lower(&arrays[i], &keys[0]);
	assert_int_equal(agent_predispatch_free_slots(p, &arrays[0]), 0);
	assert_false(add_record(p, &keys[1], "suspended", ""));
	assert_false(add_record(p, &keys[1], "resumed", ""));
	assert_false(add_record(p, &keys[1], "end", ""));
	assert_int_equal(agent_predispatch_free_slots(p, &arrays[0]), 1);
	assert_int_equal(arrays[1].concurrency, 2);
	agent_predispatch_free(p);
}

/* Attempts of an earlier procmgrd count. */
static void test_restart(void **state)
{
	(void)state;
	assert_int_equal(mkdir("spool/812.3.1", 0700) + mkdir("spool/812.4.1", 0700) + mkdir("spool/813.4.1", 0700), 0);
	struct agent_predispatch *p = agent_predispatch_new(false);
	assert_int_equal(agent_predispatch_free_slots(p, &array), 0);
	assert_false(add_record(p, &keys[1], "end", ""));
	assert_int_equal(agent_predispatch_free_slots(p, &array), 1);
	agent_predispatch_free(p);
	assert_int_equal(rmdir("spool/812.3.1") + rmdir("spool/812.4.1") + rmdir("spool/813.4.1"), 0);
}

/* Handle the records of an attempt whose tasks end with this outcome. Returns whether it is listed as completed. */
static bool ends(struct agent_predispatch *p, const struct record_key *key, const char *outcome, const char *drain)
{
	struct fields *done = record_new("done", key), *end = record_new("end", key);
	fields_add(done, "outcome", outcome);
	fields_add(end, "drain", drain);
	assert_false(agent_predispatch_record(p, key, done));
	assert_false(agent_predispatch_has_completed(p, key));
	agent_predispatch_record(p, key, end);
	fields_free(done);
	fields_free(end);
	return agent_predispatch_has_completed(p, key);
}

static bool completes(struct agent_predispatch *p, const struct record_key *key, const char *outcome)
{
	return ends(p, key, outcome, "");
}

/* An element that completed here is listed for a while. One that ended otherwise, while suspended, without having run here, or by
 * a fault of the node is not listed. */
static void test_completed(void **state)
{
	struct record_key many = {900, 0, 1, 0};
	struct agent_predispatch *p = agent_predispatch_new(false);
	(void)state;
	assert_false(completes(p, &keys[0], "complete"));
	for (int i = 0; i < 4; i++)
		agent_predispatch_start(p, &keys[i]);
	assert_true(completes(p, &keys[0], "complete"));
	assert_false(completes(p, &keys[1], "fail"));
	assert_false(add_record(p, &keys[2], "suspended", ""));
	assert_false(completes(p, &keys[2], "complete"));
	assert_false(add_record(p, &keys[3], "end", ""));
	assert_false(agent_predispatch_has_completed(p, &keys[3]));
	for (many.step_id = 0; many.step_id < 255; many.step_id++) {
		agent_predispatch_start(p, &many);
		assert_true(completes(p, &many, "complete"));
	}
	assert_true(agent_predispatch_has_completed(p, &keys[0]));
	agent_predispatch_start(p, &many);
	assert_false(ends(p, &many, "complete", "epilog failed"));
	agent_predispatch_start(p, &many);
	assert_true(completes(p, &many, "complete"));
	assert_false(agent_predispatch_has_completed(p, &keys[0]));
	agent_predispatch_free(p);
}

/* Virtual nodes run nothing, so all elements of an order start at once. */
static void test_virtual(void **state)
{
	struct agent_predispatch *p = agent_predispatch_new(true);
	(void)state;
	agent_predispatch_start(p, &keys[0]);
	agent_predispatch_start(p, &keys[1]);
	assert_false(agent_predispatch_runs(p, &keys[0]));
	assert_int_equal(agent_predispatch_free_slots(p, &array), INT_MAX);
	agent_predispatch_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_free_slots), cmocka_unit_test(test_suspended),
					   cmocka_unit_test(test_restart), cmocka_unit_test(test_completed),
					   cmocka_unit_test(test_virtual)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
