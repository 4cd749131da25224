/* gate_numbers_test.c - the stock of job numbers: none for single jobs, more the longer a burst of submissions lasts; each is
 * used once. */
#include "tests/unit/unit.h"

#include <stdint.h>
#include <unistd.h>

#include "jobmgr/gate/gate_numbers.h"

/* Stands for the database: reserve numbers from *next on. */
static json_t *reserve(int64_t *next, size_t count)
{
	json_t *numbers = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(numbers, json_integer((*next)++));
	return numbers;
}

/* Returns the number of one more job, as gate_submit.c takes it. */
static int64_t submit(struct gate_numbers *stock, int64_t *next, int *reservations)
{
	json_t *numbers = gate_numbers_take(stock, 1);
	int64_t number;

	if (!numbers) {
		++*reservations;
		numbers = reserve(next, 1 + gate_numbers_ahead(stock));
		gate_numbers_put(stock, numbers, 1);
	}
	number = json_integer_value(json_array_get(numbers, 0));
	json_decref(numbers);
	return number;
}

static void test_burst(void **state)
{
	struct gate_numbers *stock = gate_numbers_new();
	int64_t next = 1;
	int reservations = 0;

	(void)state;
	for (int64_t i = 1; i <= 1000; i++)
		assert_int_equal(submit(stock, &next, &reservations), i);
	assert_in_range(reservations, 1000 / (GATE_NUMBERS_MOST + 1), 1000 / (GATE_NUMBERS_MOST + 1) + 6);
	gate_numbers_free(stock);
}

static void test_single_jobs(void **state)
{
	struct gate_numbers *stock = gate_numbers_new();
	int64_t next = 1;
	int reservations = 0;

	(void)state;
	assert_int_equal(submit(stock, &next, &reservations), 1);
	assert_int_equal(next, 2); /* nothing was reserved ahead */
	assert_int_equal(submit(stock, &next, &reservations), 2);
	assert_int_equal(next, 4);
	usleep(1100000);
	assert_int_equal(submit(stock, &next, &reservations), 4); /* 3 is too old */
	assert_int_equal(next, 5);
	gate_numbers_free(stock);
}

static void test_lists(void **state)
{
	struct gate_numbers *stock = gate_numbers_new();
	json_t *numbers = json_pack("[i, i, i]", 7, 8, 9), *taken;

	(void)state;
	gate_numbers_put(stock, numbers, 1);
	assert_null(gate_numbers_take(stock, 3));
	taken = gate_numbers_take(stock, 2);
	assert_int_equal(json_integer_value(json_array_get(taken, 0)), 8);
	assert_int_equal(json_integer_value(json_array_get(taken, 1)), 9);
	assert_null(gate_numbers_take(stock, 1));
	json_decref(taken);
	json_decref(numbers);
	gate_numbers_free(stock);
}

/* No number is given out after a higher one of a later reservation, whichever of the two answers comes first. */
static void test_order(void **state)
{
	struct gate_numbers *stock = gate_numbers_new();
	json_t *lower = json_pack("[i, i]", 7, 8), *higher = json_pack("[i, i]", 9, 10), *taken;

	(void)state;
	gate_numbers_put(stock, lower, 1);
	gate_numbers_put(stock, higher, 2); /* a submission of several jobs took both */
	assert_null(gate_numbers_take(stock, 1));
	gate_numbers_put(stock, higher, 1);
	gate_numbers_put(stock, lower, 1);
	taken = gate_numbers_take(stock, 1);
	assert_int_equal(json_integer_value(json_array_get(taken, 0)), 10);
	json_decref(taken);
	json_decref(lower);
	json_decref(higher);
	gate_numbers_free(stock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_single_jobs),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
