/* schedule_time_test.c - the scheduler while time passes: steps end before their limits or at them, and cycle follows cycle.
 * The first waiting step of the queue starts no later than was first expected (A9), whatever backfill does, and in the end every
 * step has run that can. ROTA_SEED=n runs one case. */
#include "tests/unit/schedule_check.h"

enum { CASES = 120, MOST_CYCLES = 2000, MOST_JOBS = 16, MOST_STEP_IDS = 4 };

static double promise[MOST_JOBS][MOST_STEP_IDS]; /* by job and step id / 100 */

static bool is_static(enum schedule_reason reason)
{
	return reason != SCHEDULE_RESOURCES && reason != SCHEDULE_PRIORITY && reason != SCHEDULE_LICENSE &&
	       reason != SCHEDULE_MAINTENANCE;
}

/* The first step in queue order that waits for resources which become free. */
static const struct schedule_wait *first_waiting(const struct world *w, const struct schedule_result *result)
{
	const struct schedule_wait *first = NULL;
	int priority = 0;
	for (size_t i = 0; i < result->wait_count; i++) {
		const struct schedule_wait *wait = &result->waits[i];
		int own = partition_of(w, w->pending[wait->pending].partition)->priority;
		if (is_static(wait->reason) || (first && own <= priority))
			continue;
		first = wait;
		priority = own;
	}
	return first;
}

static void keep_promises(const struct world *w, const struct schedule_result *result)
{
	for (size_t i = 0; i < result->start_count; i++) {
		double *by = &promise[result->starts[i].job][result->starts[i].step / 100];
		if (w->snapshot.now > *by)
			fail_msg("%lld.%d starts %.0f s late", (long long)result->starts[i].job, result->starts[i].step,
				 w->snapshot.now - *by);
		*by = INFINITY;
	}
	for (size_t i = 0; i < result->wait_count; i++) /* a step that lacks a licence has no reservation of nodes */
		if (result->waits[i].reason == SCHEDULE_LICENSE)
			promise[result->waits[i].job][result->waits[i].step / 100] = INFINITY;
	const struct schedule_wait *first = first_waiting(w, result);
	if (first && first->reason != SCHEDULE_LICENSE && !w->pending[first->pending].with_count && !isnan(first->expected_at))
		promise[first->job][first->step / 100] = fmin(promise[first->job][first->step / 100], first->expected_at);
}

/* Does an outage still end? Until its end steps may wait although no step runs. */
static bool outage_ends(const struct world *w)
{
	for (size_t i = 0; i < w->snapshot.outage_count; i++)
		if (w->outage[i].to > w->snapshot.now && w->outage[i].to < INFINITY)
			return true;
	return false;
}

static void run_case(uint64_t seed, const struct schedule_policy *policy)
{
	struct world *w = world_new(seed);
	for (size_t i = 0; i < MOST_JOBS * MOST_STEP_IDS; i++)
		promise[i / MOST_STEP_IDS][i % MOST_STEP_IDS] = INFINITY;
	for (size_t i = 0; i < w->snapshot.pending_count; i++)
		w->pending[i].array_free_slots = -1;
	for (int cycle = 0;; cycle++) {
		struct schedule_result *result = schedule_run(&w->snapshot, policy);
		bool idle = !w->snapshot.running_count && !result->start_count && !outage_ends(w);
		check_result(w, result);
		keep_promises(w, result);
		for (size_t i = 0; idle && i < result->wait_count; i++)
			assert_true(is_static(result->waits[i].reason) || result->waits[i].reason == SCHEDULE_MAINTENANCE ||
				    strstr(result->waits[i].message, "there are"));
		world_start(w, result);
		world_leave(w, result);
		schedule_result_free(result);
		assert_in_range(cycle, 0, MOST_CYCLES);
		if (!world_pass(w))
			break;
	}
	world_free(w);
}

static void test_time(void **state)
{
	const char *seed = getenv("ROTA_SEED");
	for (uint64_t i = 1; !seed && i <= CASES; i++)
		run_case(i, *state);
	if (seed)
		run_case(strtoull(seed, NULL, 10), *state);
}

int main(void)
{
	static struct schedule_policy policy[] = {{false, 0}, {true, 1}, {true, 8}};
	const struct CMUnitTest tests[] = {
		{"strict order", test_time, NULL, NULL, &policy[0]},
		{"one reservation", test_time, NULL, NULL, &policy[1]},
		{"eight reservations", test_time, NULL, NULL, &policy[2]},
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
