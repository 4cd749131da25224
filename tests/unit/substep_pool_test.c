/* substep_pool_test.c - which CPUs a task of a sub-step is bound to by --cpu-bind=map. */
#include "tests/unit/unit.h"

#include "procmgr/stepmgr/substep_pool.h"

static struct substep_spec *parse(const char *bind, struct err *e)
{
	json_t *env = json_array(),
	       *request = json_pack("{s:s, s:i, s:[s], s:s}", "op", "run", "id", 1, "argv", "true", "cpu_bind", bind);
	struct substep_spec *spec = substep_spec_parse(request, env, "/", e);
	json_decref(request);
	json_decref(env);
	return spec;
}

/* The map binds task 0 to the first CPU of the list, and so on. */
static void check_map(const char *bind, const int *cpus, int count)
{
	struct err e = {.message = ""};
	struct substep_pool *pool = substep_pool_new(1, 0, "");
	struct substep_spec *spec = parse(bind, &e);
	struct substep_share share = {0};
	assert_non_null(spec);
	for (int i = 0; i < count; i++) {
		cpu_set_t set;
		assert_true(substep_pool_bind(pool, spec, &share, i, &set));
		assert_int_equal(CPU_COUNT(&set), 1);
		assert_true(CPU_ISSET(cpus[i], &set));
	}
	substep_spec_free(spec);
	substep_pool_free(pool);
}

static void test_map(void **state)
{
	(void)state;
	check_map("map:0-3", (const int[]){0, 1, 2, 3, 0, 1}, 6);
	check_map("map:5", (const int[]){5, 5}, 2);
	check_map("map:7,2-3,0", (const int[]){7, 2, 3, 0, 7, 2, 3, 0}, 8);
	check_map("map:1023", (const int[]){1023}, 1);
}

static void check_refused(const char *bind, const char *message)
{
	struct err e = {.message = ""};
	assert_null(parse(bind, &e));
	assert_string_equal(e.message, message);
}

static void test_refused(void **state)
{
	(void)state;
	check_refused("map:0-1024", "\"cpu_bind\" names CPU 1024; the highest number is 1023");
	check_refused("map:99999999999999999999", "\"cpu_bind\" names CPU 9223372036854775807; the highest number is 1023");
	check_refused("map:3-1", "\"cpu_bind\" must be map: and CPU numbers such as 0-3,8, not \"map:3-1\"");
	check_refused("map:", "\"cpu_bind\" must be map: and CPU numbers such as 0-3,8, not \"map:\"");
	check_refused("map:1,", "\"cpu_bind\" must be map: and CPU numbers such as 0-3,8, not \"map:1,\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
