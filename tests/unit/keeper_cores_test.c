/* keeper_cores_test.c - the cores to which a step is pinned, over a made-up tree of cgroups. */
#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "procmgr/keeper/cgroups_cores.h"

static int count_usable(void)
{
	cpu_set_t usable;
	return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 0;
}

static int first_usable(void)
{
	cpu_set_t usable;
	int core = 0;
	sched_getaffinity(0, sizeof usable, &usable);
	while (!CPU_ISSET(core, &usable))
		core++;
	return core;
}

/* Make the cgroup of an attempt, pinned to `list`. */
static void draw(const char *instance, const char *node, const char *key, const char *list)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", unit_folder, instance);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%s/%s", unit_folder, instance, node);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%s/%s/%s", unit_folder, instance, node, key);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%s/%s/%s/cpuset.cpus", unit_folder, instance, node, key);
	FILE *file = fopen(path, "w");
	fputs(list, file);
	fclose(file);
}

static void test_mark(void **state)
{
	(void)state;
	cpu_set_t cores;
	CPU_ZERO(&cores);
	cgroups_cores_add("0-2,5,7-7\n", &cores);
	assert_int_equal(CPU_COUNT(&cores), 5);
	assert_true(CPU_ISSET(5, &cores) && CPU_ISSET(7, &cores) && !CPU_ISSET(3, &cores));
	cgroups_cores_add("", &cores);
	cgroups_cores_add("x", &cores);
	cgroups_cores_add("4096-99999", &cores);
	assert_int_equal(CPU_COUNT(&cores), 5);
}

static void test_pick(void **state)
{
	(void)state;
	char expected[16];
	char *cores = cgroups_cores_pick(unit_folder, 1);
	snprintf(expected, sizeof expected, "%d", first_usable());
	assert_string_equal(cores, expected);
	free(cores);
	assert_null(cgroups_cores_pick(unit_folder, count_usable() + 1));
	cores = cgroups_cores_pick(unit_folder, count_usable());
	assert_non_null(cores);
	free(cores);
}

static void test_taken(void **state)
{
	(void)state;
	draw("other-instance", "n1", "812.0.1", "0-1023");
	assert_null(cgroups_cores_pick(unit_folder, 1));
	draw("other-instance", "n1", "812.0.1", "");
	char list[16];
	snprintf(list, sizeof list, "%d\n", first_usable());
	draw("mine", "n2", "7.0.1", list);
	assert_null(cgroups_cores_pick(unit_folder, count_usable()));
	char *cores = cgroups_cores_pick(unit_folder, count_usable() - 1);
	if (count_usable() > 1)
		assert_non_null(cores);
	free(cores);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mark),
		cmocka_unit_test_setup_teardown(test_pick, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_taken, unit_folder_make, unit_folder_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
