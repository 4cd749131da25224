/* text_test.c - output of programs becomes text that can be stored. */
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
	cleans("a\xe2\x80\xae"
	       "b\xe2\x81\xa6\xc2\x85",
	       "a???b?????"); /* characters that change the direction of text; a C1 control */
	cleans("", "");
}

static void test_control(void **state)
{
	static const char *const controls[] = {"\x01",	       "\x1f",	       "\x7f",	       "\xc2\x80",    "\xc2\x9f",
					       "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};
	/* Characters next to these, and characters with the same first bytes. */
	static const char *const others[] = {
		" ",	"~",	   "\xc2\xa0", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa", "\xe2\x82\xac",
		"\xe2", "\xe2\x80"};

	(void)state;
	for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
		assert_int_equal(text_control_size(controls[i]), strlen(controls[i]));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_int_equal(text_control_size(others[i]), 0);
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

static void tails(const char *text, size_t most, const char *expected)
{
	char copy[64];

	snprintf(copy, sizeof copy, "%s", text);
	text_tail(copy, strlen(text), most);
	assert_string_equal(copy, expected);
}

/* A character that is cut is dropped; other bytes that are no character become '?'. */
static void test_tail_character(void **state)
{
	char text[8] = "abc\xc3\xbc"
		       "de";

	(void)state;
	tails("gr\xc3\xbc\xc3\x9f", 3, "\xc3\x9f");
	tails("gr\xc3\xbc\xc3\x9f", 4, "\xc3\xbc\xc3\x9f");
	tails("\xe2\x82\xac.", 3, ".");
	tails("\xf0\x9f\x98\x80", 3, "");
	tails("x\x80\x80\x80\x80\x80", 5, "??");
	tails("\xbc.", 2, "?.");
	assert_int_equal(text_tail_room(text, 6, sizeof text, 3), 6);
	assert_int_equal(text_tail_room(text, 7, sizeof text, 3), 4);
	text_tail(text, 4, 3);
	assert_string_equal(text, "de");
}

static void cuts(const char *text, size_t most, const char *expected)
{
	char copy[64];

	snprintf(copy, sizeof copy, "%s", text);
	text_cut(copy, most);
	assert_string_equal(copy, expected);
}

static void test_cut(void **state)
{
	(void)state;
	cuts("", 3, "");
	cuts("whole", 5, "whole");
	cuts("whole", 4, "w...");
	cuts("whole", 3, "...");
	cuts("gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f");
	cuts("gr\xc3\xbc\xc3\x9f.", 6, "gr...");
	cuts("\x80\x80\x80\x80\x80", 4, "...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control),	       cmocka_unit_test(test_cut),
		cmocka_unit_test(test_clean),	       cmocka_unit_test(test_tail),
		cmocka_unit_test(test_tail_character),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
