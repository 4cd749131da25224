/* substep_ranks_test.c - the node of each task: block, cyclic and plane distribution. */
#include "tests/unit/unit.h"

#include "procmgr/stepmgr/substep_ranks.h"
#include "procmgr/stepmgr/substep_spec.h"

/* The ranks of each node as text, "0 1 | 2 3". */
static void check(int total, int nodes, int plane, const char *expected)
{
	char text[512] = "";
	for (int node = 0; node < nodes; node++) {
		struct substep_ranks r = substep_ranks_of_node(total, nodes, node, plane);
		if (node > 0)
			strcat(text, " |");
		for (int i = 0; i < r.count; i++)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", *text ? " " : "",
				 substep_ranks_at(&r, i));
	}
	assert_string_equal(text, expected);
}

static void test_distributions(void **state)
{
	(void)state;
	check(8, 2, 0, "0 1 2 3 | 4 5 6 7");
	check(5, 3, 0, "0 1 | 2 3 | 4");
	check(8, 2, 1, "0 2 4 6 | 1 3 5 7");
	check(5, 3, 1, "0 3 | 1 4 | 2");
	check(8, 2, 2, "0 1 4 5 | 2 3 6 7");
	check(9, 2, 2, "0 1 4 5 8 | 2 3 6 7");
	check(11, 3, 3, "0 1 2 9 10 | 3 4 5 | 6 7 8");
	check(5, 2, 4, "0 1 2 3 | 4");
	check(3, 1, 2, "0 1 2");
}

/* Each rank is on one node, at the index that the lookup returns. */
static void test_each_once(void **state)
{
	(void)state;
	for (int total = 1; total <= 40; total++)
		for (int nodes = 1; nodes <= 5; nodes++)
			for (int plane = 0; plane <= 7; plane++) {
				int seen[40] = {0}, all = 0;
				for (int node = 0; node < nodes; node++) {
					struct substep_ranks r = substep_ranks_of_node(total, nodes, node, plane);
					assert_true(r.count == 0 || substep_ranks_are_valid(&r, total));
					for (int i = 0; i < r.count; i++) {
						int rank = substep_ranks_at(&r, i);
						assert_in_range(rank, 0, total - 1);
						assert_int_equal(seen[rank]++, 0);
						assert_int_equal(substep_ranks_position(&r, rank), i);
						all++;
					}
				}
				assert_int_equal(all, total);
			}
}

static void test_validity(void **state)
{
	(void)state;
	assert_true(substep_ranks_are_valid(&(struct substep_ranks){2, 4, 4, 2}, 8));
	assert_false(substep_ranks_are_valid(&(struct substep_ranks){2, 4, 5, 2}, 8));
	assert_false(substep_ranks_are_valid(&(struct substep_ranks){0, 2, 4, 3}, 100));
	assert_false(substep_ranks_are_valid(&(struct substep_ranks){-1, 1, 1, 0}, 8));
	assert_false(substep_ranks_are_valid(&(struct substep_ranks){0, 0, 1, 0}, 8));
	assert_false(substep_ranks_are_valid(&(struct substep_ranks){0, 1, 1, -1}, 8));
	assert_false(substep_ranks_are_valid(&(struct substep_ranks){2147483647, 2147483647, 65536, 0}, 65536));
}

static void check_request(const char *distribution, int ntasks, int nodes, int per_node, const char *message)
{
	struct err e = {.message = ""};
	json_t *env = json_array(), *request = json_pack("{s:s, s:i, s:[s], s:s, s:i, s:i}", "op", "run", "id", 1, "argv", "true",
							 "distribution", distribution, "ntasks", ntasks, "nodes", nodes);
	if (per_node > 0)
		json_object_set_new(request, "ntasks_per_node", json_integer(per_node));
	struct substep_spec *spec = substep_spec_parse(request, env, "/", &e);
	assert_string_equal(e.message, message);
	assert_true(!spec == (*message != '\0'));
	substep_spec_free(spec);
	json_decref(request);
	json_decref(env);
}

static void test_requests(void **state)
{
	(void)state;
	check_request("plane=2", 8, 2, 0, "");
	check_request("plane=4", 5, 2, 4, "");
	check_request("plane=4", 4, 2, 0, "4 tasks in blocks of 4 leave nothing for 2 nodes");
	check_request("plane=4", 6, 2, 3, "6 tasks are more than 3 on each of 2 nodes");
	check_request("plane=0", 6, 2, 0,
		      "\"distribution\" must be block, cyclic or plane=N with N from 1 to 65536, not \"plane=0\"");
	check_request("plane=2x", 6, 2, 0,
		      "\"distribution\" must be block, cyclic or plane=N with N from 1 to 65536, not \"plane=2x\"");
	check_request("plane", 6, 2, 0,
		      "\"distribution\" must be block, cyclic or plane=N with N from 1 to 65536, not \"plane\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distributions),
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_validity),
		cmocka_unit_test(test_requests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
