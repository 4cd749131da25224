/* agent_hold_test.c - records that wait for others of their attempt before they are told. */
#include "tests/unit/unit.h"

#include "procmgr/agent/agent_hold.h"

static void add(struct agent_hold *h, int step, const char *kind, int64_t position, int64_t due)
{
	struct record_key key = {812, step, 1, 0};
	struct fields *record = record_new(kind, &key);
	agent_hold_add(h, &key, record, position, due);
	fields_free(record);
}

static int note(const struct record_key *key, struct fields *const *records, int count, void *arg)
{
	char *text = arg;
	for (int i = 0; i < count; i++)
		sprintf(text + strlen(text), "%d%s", key->step_id, fields_get(records[i], "kind"));
	return count;
}

static void takes(struct agent_hold *h, int64_t now, int most, const char *expected)
{
	char text[256] = "";
	agent_hold_take(h, now, most, note, text);
	assert_string_equal(text, expected);
}

/* The begin of 2 waits while 1 is told of, and nothing behind it is said to be told; what comes for it goes with it. */
static void test_once(void **state)
{
	(void)state;
	struct agent_hold *h = agent_hold_new();
	assert_int_equal(agent_hold_from(h, 100), 100);
	assert_true(agent_hold_due(h) == INT64_MAX);
	add(h, 1, "run", 100, 1200);
	add(h, 2, "run", 110, 1200);
	add(h, 1, "end", 120, 1000);
	assert_int_equal(agent_hold_due(h), 1000);
	takes(h, 999, 10, "");
	takes(h, 1000, 10, "1run1end");
	assert_int_equal(agent_hold_due(h), 1200);
	assert_int_equal(agent_hold_from(h, 130), 110);
	assert_int_equal(agent_hold_count(h), 1);
	add(h, 1, "late", 130, 1300);
	add(h, 2, "end", 140, 1100);
	takes(h, 1100, 10, "2run2end");
	assert_int_equal(agent_hold_from(h, 150), 130);
	takes(h, INT64_MAX, 10, "1late");
	assert_int_equal(agent_hold_from(h, 150), 150);
	assert_true(agent_hold_due(h) == INT64_MAX);
	agent_hold_free(h);
}

/* Attempts and virtual nodes are told apart; an attempt is not cut, and what found no room stays due. */
static void test_most(void **state)
{
	(void)state;
	struct agent_hold *h = agent_hold_new();
	static const struct record_key other = {812, 1, 2, 0}, elsewhere = {812, 1, 1, 3}, job = {813, 1, 1, 0};
	static const struct record_key *const keys[] = {&other, &elsewhere, &job};
	add(h, 1, "run", 100, 1000);
	for (int i = 0; i < 3; i++) {
		struct fields *record = record_new("ready", keys[i]);
		agent_hold_add(h, keys[i], record, 110 + i, 1000 + i);
		fields_free(record);
	}
	add(h, 1, "done", 120, 1000);
	takes(h, 2000, 1, "1run1done");
	assert_int_equal(agent_hold_due(h), 1000);
	assert_int_equal(agent_hold_from(h, 130), 110);
	takes(h, 2000, 2, "1ready1ready");
	assert_int_equal(agent_hold_count(h), 1);
	agent_hold_clear(h);
	assert_int_equal(agent_hold_count(h), 0);
	assert_int_equal(agent_hold_from(h, 130), 130);
	add(h, 1, "run", 130, 1500);
	assert_int_equal(agent_hold_due(h), 1500);
	agent_hold_free(h); /* with what it holds */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
