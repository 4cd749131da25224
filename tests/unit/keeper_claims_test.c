/* keeper_claims_test.c - cores that steps claim where no cgroup cpuset reserves them. */
#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/keeper/cores.h"

/* Other instances on this machine may have claims, so the test has a network namespace of its own, and with it its own abstract
 * names. */
static int setup(void **state)
{
	(void)state;
	return unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) < 0;
}

static int count_usable(void)
{
	cpu_set_t usable;
	return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 0;
}

static void test_apart(void **state)
{
	(void)state;
	struct cores all, one;
	assert_true(cores_take(&all, count_usable()));
	assert_int_equal(CPU_COUNT(&all.set), count_usable());
	assert_false(cores_take(&one, 1));
	assert_int_equal(one.count, 0);
	cores_release(&all);
	assert_true(cores_take(&one, 1));
	assert_int_equal(CPU_COUNT(&one.set), 1);
	assert_false(cores_take(&all, count_usable()));
	if (count_usable() > 1) {
		assert_true(cores_take(&all, count_usable() - 1)); /* an incomplete claim is released */
		CPU_AND(&one.set, &one.set, &all.set);
		assert_int_equal(CPU_COUNT(&one.set), 0);
		cores_release(&all);
	}
	cores_release(&one);
}

static void test_senseless(void **state)
{
	(void)state;
	struct cores c;
	assert_false(cores_take(&c, 0));
	assert_false(cores_take(&c, count_usable() + 1));
	cores_release(&c);
}

/* A keeper that dies leaves no claim. */
static void test_dies(void **state)
{
	(void)state;
	struct cores c;
	pid_t pid = fork();
	if (pid == 0)
		_exit(!cores_take(&c, count_usable()));
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(cores_take(&c, count_usable()));
	cores_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_apart), cmocka_unit_test(test_senseless),
					   cmocka_unit_test(test_dies)};
	return cmocka_run_group_tests(tests, setup, NULL);
}
