/* hosts_test.c - lists of node names, short ("n[1-3]") and expanded. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hosts.h"

enum { MOST = 3000 };

/* Check that names pack into this list, and that the list expands to the same names. */
static void check(const char *names, const char *packed)
{
	static char text[MOST * 16];
	const char *one[MOST];
	size_t count = 0;
	snprintf(text, sizeof text, "%s", names);
	for (char *c = strtok(text, ","); c; c = strtok(NULL, ","))
		one[count++] = c;
	char *list = hosts_pack(one, count), *all = hosts_expand(list), name[HOSTS_NAME_SIZE];
	if (packed)
		assert_string_equal(list, packed);
	assert_string_equal(all, names);
	assert_int_equal(hosts_count(list), count);
	for (size_t i = 0; i < count; i++) {
		assert_true(hosts_at(list, (int)i, name));
		assert_string_equal(name, one[i]);
		assert_int_equal(hosts_find(list, name), i);
	}
	assert_int_equal(hosts_find(list, "elsewhere"), -1);
	assert_false(hosts_at(list, (int)count, name));
	assert_false(hosts_at(list, -1, name));
	free(list);
	free(all);
}

static void test_pack(void **state)
{
	(void)state;
	check("n1", "n1");
	check("n1,n2,n3", "n1,n2,n3");
	check("n1,n2,n3,n4,n5,n6,n7,n8", "n[1-8]");
	check("n9,n1,n2,n3,n4,n5,n6,n7,n8,m", "n9,n[1-8],m");
	check("n01,n02,n03,n04,n05,n06,n07,n08,n09,n10", NULL);
	check("a-0,a-1,a-2,a-3,a-4,a-5,a-6,a-7,b-8", "a-[0-7],b-8");
	check("n8,n7,n6,n5,n4,n3,n2,n1", "n8,n7,n6,n5,n4,n3,n2,n1");
	check("r1n1,r1n2,r1n3,r1n4,r1n5,r1n6,r1n7,r1n8,r2n9,r2n10", "r1n[1-8],r2n9,r2n10");
	check("7,8,9,10,11,12,13,14,15", NULL);
	check("x99999999,x1234567890,x1234567891,x1234567892,x1234567893,x1234567894,x1234567895,x1234567896,x1234567897", NULL);
}

static void test_many(void **state)
{
	(void)state;
	static char names[MOST * 16];
	char *end = names;
	for (int i = 1; i <= 2500; i++)
		end += sprintf(end, "%snode%d", i > 1 ? "," : "", i % 100 == 0 ? i + 100000 : i);
	check(names, NULL);
}

static void test_find(void **state)
{
	(void)state;
	assert_int_equal(hosts_find("n9,n[1-8],m", "n8"), 8);
	assert_int_equal(hosts_find("n9,n[1-8],m", "n08"), -1);
	assert_int_equal(hosts_find("n9,n[1-8],m", "n8x"), -1);
	assert_int_equal(hosts_find("n9,n[1-8],m", "n"), -1);
	assert_int_equal(hosts_find("n9,n[1-8],m", "n-1"), -1);
	assert_int_equal(hosts_find("n9,n[1-8],m", "mm"), -1);
	assert_int_equal(hosts_find("n[0-8]", "n"), -1);
	assert_int_equal(hosts_find("", "n"), -1);
}

static void test_wrong(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		",",	 "a,",	  ",a",	   "a,,b", "n[1-2", "n[2-1]",  "n[1-2]x",	  "n[01-2]",
		"n[-2]", "n[1-]", "[1-2]", "n[1]", "n]",    "n[1-2],", "n[1-9999999999]", "n[1-2][3-4]"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(hosts_count(wrong[i]), -1);
	assert_int_equal(hosts_count(""), 0);
}

static void test_fold(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"n1", "n1"},
		{"n1,n2,n3,n5", "n[1-3,5]"},
		{"n1,n2,m", "n[1-2],m"},
		{"login,n3,n1,n2", "login,n[3,1-2]"},
		{"n07,n08,n09,n10,n7", "n[07-10,7]"},
		{"n8,n9,n10,n11", "n[8-11]"},
		{"n09,n9,n10", "n[09,9-10]"},
		{"n99,n100,n0100", "n[99-100,0100]"},
		{"r1n1,r1n2,r2n1,r2n3", "r1n[1-2],r2n[1,3]"},
		{"7,8", "7,8"},
		{"a1b,a2b", "a1b,a2b"},
		{"x1234567890,x1234567891", "x1[234567890-234567891]"},
		{"", ""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *folded = hosts_fold(cases[i][0]);
		assert_string_equal(folded, cases[i][1]);
		free(folded);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_pack), cmocka_unit_test(test_many), cmocka_unit_test(test_find),
					   cmocka_unit_test(test_wrong), cmocka_unit_test(test_fold)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
