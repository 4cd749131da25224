/* keeper_record_test.c - the outcome that a keeper records, and names of attempts. */
#include "tests/unit/unit.h"

#include "procmgr/keeper/keeper_parts.h"

static void says(const struct keeper *k, const char *cause, const char *outcome)
{
	const char *c, *o;
	keeper_record_outcome(k, &c, &o);
	assert_string_equal(c, cause);
	assert_string_equal(o, outcome);
}

static void test_outcome(void **state)
{
	(void)state;
	says(&(struct keeper){0}, "exit", "complete");
	says(&(struct keeper){.exit_code = 3}, "exit", "fail");
	says(&(struct keeper){.signal = 11}, "signal", "fail");
	says(&(struct keeper){.signal = 9, .figures = {.oom_kills = 1}}, "out_of_memory", "oom");
	says(&(struct keeper){.exit_code = 0, .figures = {.oom_kills = 1}}, "out_of_memory", "oom");
	says(&(struct keeper){.cause = "cancelled"}, "cancelled", "cancel");
	says(&(struct keeper){.cause = "preempted", .signal = 15}, "preempted", "cancel");
	says(&(struct keeper){.cause = "time_limit", .figures = {.oom_kills = 1}}, "time_limit", "timeout");
	says(&(struct keeper){.cause = "node"}, "node", "node_fail");
	says(&(struct keeper){.cause = "node_lost"}, "node_lost", "node_fail");
	says(&(struct keeper){.cause = "shutdown"}, "shutdown", "node_fail");
	struct order growth = {.spec.grows = "812.0.1"}, other = {.job_id = 1}, second = {.node_index = 1};
	says(&(struct keeper){.order = &growth, .cause = "given_back", .signal = 15}, "given_back", "complete");
	says(&(struct keeper){.order = &growth, .cause = "grown_ended", .signal = 9}, "grown_ended", "complete");
	says(&(struct keeper){.order = &growth, .cause = "cancelled"}, "cancelled", "cancel");
	says(&(struct keeper){.order = &other, .cause = "given_back"}, "given_back", "cancel");
	says(&(struct keeper){.order = &second, .cause = "given_back", .signal = 9}, "given_back", "complete");
	says(&(struct keeper){.order = &second, .cause = "grown_ended"}, "grown_ended", "cancel");
	says(&(struct keeper){.failure = KEEPER_FAILURE_LAUNCH, .exit_code = 126}, "launch", "fail");
	says(&(struct keeper){.failure = KEEPER_FAILURE_NODE}, "node", "node_fail");
	says(&(struct keeper){.failure = KEEPER_FAILURE_SITE_PROLOG, .cause = "cancelled"}, "prolog", "prolog_fail");
	says(&(struct keeper){.failure = KEEPER_FAILURE_USER_PROLOG}, "prolog", "fail");
	says(&(struct keeper){.failure = KEEPER_FAILURE_UP_TO_DATE}, "up_to_date", "skip");
}

static void test_key(void **state)
{
	(void)state;
	const struct record_key key = {812, 3, 1, 0};
	struct record_key parsed;
	char text[RECORD_KEY_SIZE];
	record_key_text(&key, text);
	assert_string_equal(text, "812.3.1");
	assert_true(record_key_parse(text, &parsed));
	assert_true(record_key_equal(&key, &parsed));
	static const char *const bad[] = {"",
					  "812",
					  "812.3",
					  "812.3.1.",
					  "0812.3.1",
					  "812.3.1x",
					  " 812.3.1",
					  "812.+3.1",
					  "group.812.g",
					  "../../etc",
					  "999999999999999999999999.1.1"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(record_key_parse(bad[i], &parsed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcome),
		cmocka_unit_test(test_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
