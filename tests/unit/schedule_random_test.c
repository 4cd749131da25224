/* schedule_random_test.c - properties of the scheduler on random clusters and queues: nothing is overbooked, every rule of a
 * request holds, gangs start whole, the same snapshot gives the same result, backfill delays no reservation, and in the end every
 * step has run that can. ROTA_SEED=n runs one case. */
#include "tests/unit/schedule_check.h"

enum { CASES = 600 };

static void seeds(uint64_t *first, uint64_t *last)
{
	const char *seed = getenv("ROTA_SEED");
	*first = seed ? strtoull(seed, NULL, 10) : 1;
	*last = seed ? *first : CASES;
}

static uint64_t seed_now; /* for a debugger */

static const struct schedule_policy policies[] = {
	{.backfill = false}, {.backfill = true, .reservations = 1}, {.backfill = true, .reservations = 8}};

static void test_rules(void **state)
{
	(void)state;
	uint64_t seed, last;
	for (seeds(&seed, &last); seed <= last; seed++) {
		struct world *w = world_new(seed);
		for (size_t i = 0; i < 6; i++) {
			seed_now = seed;
			if (i == 3)
				world_power_off(w);
			if (i == 2 || i == 4)
				world_add_setups(w);
			struct schedule_result *result = schedule_run(&w->snapshot, &policies[i % 3]);
			check_result(w, result);
			schedule_result_free(result);
		}
		world_free(w);
	}
}

static bool same_wait(const struct schedule_wait *a, const struct schedule_wait *b)
{
	return a->pending == b->pending && a->reason == b->reason && a->blocker_job == b->blocker_job &&
	       a->blocker_step == b->blocker_step &&
	       (a->expected_at == b->expected_at || (isnan(a->expected_at) && isnan(b->expected_at))) &&
	       a->node_count == b->node_count &&
	       !memcmp(a->node_ids ? a->node_ids : (int[]){0}, b->node_ids ? b->node_ids : (int[]){0},
		       a->node_count * sizeof(int)) &&
	       !strcmp(a->message, b->message);
}

static void test_deterministic(void **state)
{
	(void)state;
	uint64_t seed, last;
	for (seeds(&seed, &last); seed <= last; seed++) {
		struct world *w = world_new(seed), *v = world_new(seed);
		struct schedule_result *a = schedule_run(&w->snapshot, &policies[2]),
				       *b = schedule_run(&v->snapshot, &policies[2]);
		assert_int_equal(a->start_count, b->start_count);
		assert_int_equal(a->wait_count, b->wait_count);
		for (size_t i = 0; i < a->wait_count; i++)
			assert_true(same_wait(&a->waits[i], &b->waits[i]));
		for (size_t i = 0; i < a->start_count; i++) {
			assert_int_equal(a->starts[i].pending, b->starts[i].pending);
			assert_int_equal(a->starts[i].share_count, b->starts[i].share_count);
			for (size_t k = 0; k < a->starts[i].share_count; k++)
				assert_int_equal(a->starts[i].shares[k].node_id, b->starts[i].shares[k].node_id);
		}
		schedule_result_free(a);
		schedule_result_free(b);
		world_free(w);
		world_free(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_deterministic)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
