/* agent_ahead_test.c - how many elements that stand ahead may begin on a node. */
#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "procmgr/agent/agent_parts.h"

static const struct record_key keys[] = {{812, 3, 1, 0}, {812, 4, 1, 0}, {812, 9, 1, 0}, {813, 3, 1, 0}};
static const struct agent_order order = {.key = {812, 5, 1, 0}, .start_count = 7, .behind = 2, .first = 3, .last = 8};

static int setup(void **state)
{
	return unit_folder_make(state) == 0 && chdir(unit_folder) == 0 && mkdir("spool", 0700) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	return chdir("/") == 0 ? unit_folder_remove(state) : -1;
}

/* A record of this kind comes. */
static void tell(struct agent *a, const struct record_key *key, const char *kind, const char *again)
{
	struct fields *record = record_new(kind, key);
	fields_add(record, "again", again);
	agent_ahead_record(a, key, record);
	fields_free(record);
}

/* Only the array's own elements count, each once; an end that is read again changes nothing. */
static void test_room(void **state)
{
	struct conf conf = {0};
	struct agent a = {.conf = &conf};
	(void)state;
	agent_ahead_open(&a);
	assert_int_equal(agent_ahead_room(&a, &order), 2);
	agent_ahead_began(&a, &keys[0]);
	agent_ahead_began(&a, &keys[0]);
	agent_ahead_began(&a, &keys[2]);
	agent_ahead_began(&a, &keys[3]);
	assert_int_equal(agent_ahead_room(&a, &order), 1);
	assert_true(agent_ahead_has(&a, &keys[0]));
	assert_false(agent_ahead_has(&a, &keys[1]));
	agent_ahead_began(&a, &keys[1]);
	assert_int_equal(agent_ahead_room(&a, &order), 0);
	tell(&a, &keys[0], "done", "");
	tell(&a, &keys[0], "refused", "1");
	assert_int_equal(agent_ahead_room(&a, &order), 0);
	tell(&a, &keys[0], "end", "");
	tell(&a, &keys[0], "end", "");
	assert_int_equal(agent_ahead_room(&a, &order), 1);
	tell(&a, &keys[1], "refused", "0");
	assert_int_equal(agent_ahead_room(&a, &order), 2);
	agent_ahead_close(&a);
}

/* What ends suspended leaves its CPUs to somebody else. */
static void test_suspended(void **state)
{
	struct conf conf = {0};
	struct agent_order orders[] = {order, order};
	struct agent a = {.conf = &conf, .orders = orders, .order_count = 2};
	(void)state;
	orders[1].key.job_id = 900;
	agent_ahead_open(&a);
	agent_ahead_began(&a, &keys[0]);
	agent_ahead_began(&a, &keys[1]);
	tell(&a, &keys[0], "suspended", "");
	assert_int_equal(agent_ahead_room(&a, &orders[0]), 0);
	tell(&a, &keys[0], "end", "");
	assert_int_equal(agent_ahead_room(&a, &orders[0]), 0);
	tell(&a, &keys[1], "suspended", "");
	tell(&a, &keys[1], "resumed", "");
	tell(&a, &keys[1], "end", "");
	assert_int_equal(agent_ahead_room(&a, &orders[0]), 1);
	assert_int_equal(orders[1].behind, 2);
	agent_ahead_close(&a);
}

/* What runs was there before us. */
static void test_open(void **state)
{
	struct conf conf = {0};
	struct agent a = {.conf = &conf};
	(void)state;
	assert_int_equal(mkdir("spool/812.3.1", 0700) + mkdir("spool/812.4.1", 0700) + mkdir("spool/813.4.1", 0700), 0);
	agent_ahead_open(&a);
	assert_int_equal(agent_ahead_room(&a, &order), 0);
	tell(&a, &keys[1], "end", "");
	assert_int_equal(agent_ahead_room(&a, &order), 1);
	agent_ahead_close(&a);
	assert_int_equal(rmdir("spool/812.3.1") + rmdir("spool/812.4.1") + rmdir("spool/813.4.1"), 0);
}

/* Virtual nodes run nothing. */
static void test_virtual(void **state)
{
	struct conf conf = {.launcher_virtual = 10};
	struct agent a = {.conf = &conf};
	(void)state;
	agent_ahead_open(&a);
	agent_ahead_began(&a, &keys[0]);
	agent_ahead_began(&a, &keys[1]);
	assert_int_equal(agent_ahead_room(&a, &order), 7);
	agent_ahead_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_room), cmocka_unit_test(test_suspended),
					   cmocka_unit_test(test_open), cmocka_unit_test(test_virtual)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
