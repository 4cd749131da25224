/* record_stats_test.c - the start time of a process, from the clock and from /proc. */
#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "procmgr/record/stats.h"

enum { CHILDREN = 300 };

/* The two times are those around the start, or so far apart that a clock tick began between them. */
static void check_starts(int64_t earlier_ns)
{
	for (int i = 0; i < CHILDREN; i++) {
		int64_t before = clock_boot_ns();
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		int64_t after = clock_boot_ns();
		assert_true(pid > 0);
		int64_t found = stats_start_time_between(pid, before - earlier_ns, after), said = stats_start_time(pid);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_true(said > 0);
		assert_int_equal(found, said);
	}
}

static void test_within_tick(void **state)
{
	(void)state;
	check_starts(0);
}

static void test_over_ticks(void **state)
{
	(void)state;
	check_starts(50000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_within_tick), cmocka_unit_test(test_over_ticks)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
