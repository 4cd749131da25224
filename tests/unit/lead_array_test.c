/* lead_array_test.c - the index at each position of an array. */
#include "tests/unit/unit.h"

#include "jobmgr/lead/lead_array.h"

static bool index_at(const char *indices, int position, int *index)
{
	struct lead_array *array = lead_array_new(indices);
	bool found = lead_array_index(array, position, index);

	lead_array_free(array);
	return found;
}

static void array_indices(void **state)
{
	static const int of_several[] = {0, 3, 6, 9, 20, 21, 30};
	int index = -1;

	(void)state;
	assert_true(index_at("[[0, 9, 3]]", 3, &index));
	assert_int_equal(index, 9);
	assert_false(index_at("[[0, 9, 3]]", 4, &index));
	assert_false(index_at("[[0, 9, 0]]", 0, &index));
	assert_false(index_at("[[9, 0, 1]]", 0, &index));
	assert_false(index_at("nonsense", 0, &index));
	assert_true(index_at("[[0, 2147483646, 1]]", 2147483646, &index));
	assert_int_equal(index, 2147483646);
	for (int i = 0; i < 7; i++) {
		assert_true(index_at("[[0, 9, 3], [20, 21, 1], [30, 30, 1]]", i, &index));
		assert_int_equal(index, of_several[i]);
	}
	assert_false(index_at("[[0, 9, 3], [20, 21, 1], [30, 30, 1]]", 7, &index));
	assert_false(index_at("[[0, 9, 3]]", -1, &index));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(array_indices)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
