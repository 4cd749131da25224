/* agent_buffer_test.c - records that wait for others of their attempt before they are reported. */
#include "tests/unit/unit.h"

#include "procmgr/agent/agent_buffer.h"

static void add(struct agent_buffer *b, int step, const char *kind, int64_t position, int64_t due)
{
	struct record_key key = {812, step, 1, 0};
	struct fields *record = record_new(kind, &key);
	agent_buffer_add(b, &key, record, position, due);
	fields_free(record);
}

static int note(const struct record_key *key, struct fields *const *records, int count, void *arg)
{
	char *text = arg;
	for (int i = 0; i < count; i++)
		sprintf(text + strlen(text), "%d%s", key->step_id, fields_get(records[i], "kind"));
	return count;
}

static void assert_takes(struct agent_buffer *b, int64_t now, int most, const char *expected)
{
	char text[256] = "";
	agent_buffer_take(b, now, most, note, text);
	assert_string_equal(text, expected);
}

/* The start of 2 waits while 1 is reported, and the position stays before it. Later records of 2 leave together with it. */
static void test_once(void **state)
{
	(void)state;
	struct agent_buffer *b = agent_buffer_new();
	assert_int_equal(agent_buffer_first_position(b, 100), 100);
	assert_true(agent_buffer_due(b) == INT64_MAX);
	add(b, 1, "run", 100, 1200);
	add(b, 2, "run", 110, 1200);
	add(b, 1, "end", 120, 1000);
	assert_int_equal(agent_buffer_due(b), 1000);
	assert_takes(b, 999, 10, "");
	assert_takes(b, 1000, 10, "1run1end");
	assert_int_equal(agent_buffer_due(b), 1200);
	assert_int_equal(agent_buffer_first_position(b, 130), 110);
	assert_int_equal(agent_buffer_count(b), 1);
	add(b, 1, "late", 130, 1300);
	add(b, 2, "end", 140, 1100);
	assert_takes(b, 1100, 10, "2run2end");
	assert_int_equal(agent_buffer_first_position(b, 150), 130);
	assert_takes(b, INT64_MAX, 10, "1late");
	assert_int_equal(agent_buffer_first_position(b, 150), 150);
	assert_true(agent_buffer_due(b) == INT64_MAX);
	agent_buffer_free(b);
}

/* Attempts and virtual nodes are kept apart. No attempt is divided, and one that is too many stays due. */
static void test_most(void **state)
{
	(void)state;
	struct agent_buffer *b = agent_buffer_new();
	static const struct record_key other = {812, 1, 2, 0}, elsewhere = {812, 1, 1, 3}, job = {813, 1, 1, 0};
	static const struct record_key *const keys[] = {&other, &elsewhere, &job};
	add(b, 1, "run", 100, 1000);
	for (int i = 0; i < 3; i++) {
		struct fields *record = record_new("ready", keys[i]);
		agent_buffer_add(b, keys[i], record, 110 + i, 1000 + i);
		fields_free(record);
	}
	add(b, 1, "done", 120, 1000);
	assert_takes(b, 2000, 1, "1run1done");
	assert_int_equal(agent_buffer_due(b), 1000);
	assert_int_equal(agent_buffer_first_position(b, 130), 110);
	assert_takes(b, 2000, 2, "1ready1ready");
	assert_int_equal(agent_buffer_count(b), 1);
	agent_buffer_clear(b);
	assert_int_equal(agent_buffer_count(b), 0);
	assert_int_equal(agent_buffer_first_position(b, 130), 130);
	add(b, 1, "run", 130, 1500);
	assert_int_equal(agent_buffer_due(b), 1500);
	agent_buffer_free(b); /* also frees records */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
