/* text_test.c - what programs print becomes text that can be kept. */
#include "tests/unit/unit.h"

#include "lib/text.h"

static void cleans(const char *text, const char *expected)
{
	char copy[64];
	snprintf(copy, sizeof copy, "%s", text);
	text_clean(copy);
	assert_string_equal(copy, expected);
}

static void test_clean(void **state)
{
	(void)state;
	cleans("plain\ttext\n", "plain\ttext\n");
	cleans("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
	cleans("\x1b[31m\x7f\r", "?[31m??");
	cleans("cut \xe2\x82", "cut ??");
	cleans("\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xff", "?? ??? ???? ?");
	cleans("", "");
}

static void test_tail(void **state)
{
	char text[] = "one\0two\x80 and more";

	(void)state;
	text_tail(text, 8, 5);
	assert_string_equal(text, "?two?");
	text_tail(text, 5, 9);
	assert_string_equal(text, "?two?");
	text_tail(text, 0, 9);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_tail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
