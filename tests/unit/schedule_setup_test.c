/* schedule_setup_test.c - steps and the setups (image, preparation) of nodes: nodes with the right setup first; idle nodes that
 * get it, and for which the step waits. */
#include "tests/unit/schedule_draw.h"

static const struct setup_case {
	const char *name, *nodes, *running, *queue, *answer;
} setups[] = {
	{"a node with the right image comes first", "n1 .. i=a/a\nn2 .. i=b/a w=9", NULL, "A i=b", "n1 ..\nn2 A.\n"},
	{"else an idle one is booted with it", "n1 .. i=a/a", NULL, "A i=b", "n1 ..\nA image on n1\nboot n1 b\n"},
	{"one that is used is not", "n1 a. i=a/a\nn2 .. i=a/a", "a +60", "A i=b", "n1 a.\nn2 ..\nA image on n2\nboot n2 b\n"},
	{"but when it is free", "n1 a. i=a/a", "a +60", "A i=b", "n1 a.\nA resources a +60 on n1\n"},
	{"steps that ask for one image share the node", "n1 .. i=a/a\nn2 .. i=a/a", NULL, "A i=b\nB i=b",
	 "n1 ..\nn2 ..\nA image on n1\nB image on n1\nboot n1 b\n"},
	{"those that ask for two do not", "n1 .. i=a/a\nn2 .. i=a/a", NULL, "A i=b\nB i=c",
	 "n1 ..\nn2 ..\nA image on n1\nB image on n2\nboot n1 b\nboot n2 c\n"},
	{"one of them waits for the only node", "n1 .. i=a/a", NULL, "A i=b t=60\nB i=c",
	 "n1 ..\nA image on n1\nB resources A\nboot n1 b\n"},
	{"others do not start on it either", "n1 .. i=a/a\nn2 .. i=a/a", NULL, "A i=b\nB c=2\nC",
	 "n1 ..\nn2 BB\nA image on n1\nC resources A\nboot n1 b\n"},
	{"without an image, on nodes with their default ones", "n1 .. i=b/a\nn2 .. i=a/a w=9\nn3 .. i=c w=99", NULL, "A\nB c=2",
	 "n1 ..\nn2 A.\nn3 BB\n"},
	{"or on idle ones that get it back", "n1 .. i=b/a", NULL, "A", "n1 ..\nA image on n1\nboot n1 a\n"},
	{"a node that comes with the image", "n1 .. i=b/a ready=60\nn2 .. i=a/a", NULL, "A i=b", "n1 ..\nn2 ..\nA image on n1\n"},
	{"is not for others", "n1 .. i=b/a ready=60", NULL, "A\nB i=c", "n1 ..\nA resources\nB resources\n"},
	{"nodes without a default image are never changed", "n1 .. i=a\nn2 ..", NULL, "A i=b\nB i=a", "n1 B.\nn2 ..\nA node\n"},
	{"nor are those that report no image", "n1 .. w=1", NULL, "A", "n1 A.\n"},
	{"one that is off is powered on first", "n1 .. i=a/a off", NULL, "A i=b", "n1 ..\nA image on n1\nwake n1\n"},
	{"a gang has it on all its nodes", "n1 .. i=b/a\nn2 .. i=a/a", NULL, "A n=2 c=2 i=b",
	 "n1 ..\nn2 ..\nA image on n1,n2\nboot n2 b\n"},
	{"an array starts where it is right, and has the rest booted", "n1 . i=b/a\nn2 . i=a/a\nn3 . i=a/a", NULL,
	 "A array=2/-1/0 i=b", "n1 A\nn2 .\nn3 .\nA image on n2\nboot n2 b\n"},
	{"a prepared node comes first", "n1 ..\nn2 .. prep=m:1 w=9", NULL, "A prep=m:1", "n1 ..\nn2 A.\n"},
	{"else an idle one is prepared", "n1 a.\nn2 ..", "a +60", "A prep=m:1", "n1 a.\nn2 ..\nA prep on n2\nprepare n2 m:1\n"},
	{"other arguments are another preparation", "n1 .. prep=m:1", NULL, "A prep=m:2",
	 "n1 ..\nA prep on n1\nprepare n1 m:2\n"},
	{"steps that ask for one share the node", "n1 ..\nn2 ..", NULL, "A prep=m\nB prep=m\nC",
	 "n1 ..\nn2 C.\nA prep on n1\nB prep on n1\nprepare n1 m\n"},
	{"without one, not on a prepared node", "n1 .. prep=m", NULL, "A", "n1 ..\nA prep on n1\nclear n1\n"},
	{"what is not verified is right for nobody", "n1 .. prep=?", NULL, "A prep=m", "n1 ..\nA prep on n1\nprepare n1 m\n"},
	{"image and preparation", "n1 .. i=a/a", NULL, "A i=b prep=m", "n1 ..\nA image on n1\nboot n1 b\nprepare n1 m\n"},
	{"only the preparation is missing", "n1 .. i=a/a", NULL, "A i=a prep=m", "n1 ..\nA prep on n1\nprepare n1 m\n"},
	{"a node that comes with it", "n1 .. prep=m ready=60\nn2 ..", NULL, "A prep=m", "n1 ..\nn2 ..\nA prep on n1\n"},
};

static void test_setup(void **state)
{
	const struct setup_case *p = *state;
	struct draw *d = draw_new(p->nodes, NULL, NULL, p->running, p->queue);
	assert_string_equal(draw_answer(d, &schedule_policy_default), p->answer);
	draw_free(d);
}

static void test_words(void **state)
{
	(void)state;
	struct draw *d =
		draw_new("n1 . i=a/a\nn2 . i=b/a ready=60\nn3 . i=a\nn4 . i=a/a\nn5 . prep=m\nn6 .", NULL, NULL, NULL,
			 "A i=b on=n1\nB i=b on=n2\nC n=9 i=b\nD i=b prep=m:1 on=n4\nE on=n5\nF n=9 prep=m\nG prep=m on=n6");
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	assert_int_equal(result->wait_count, 7);
	assert_string_equal(result->waits[0].message, "waits for node n1 to be booted with image b");
	assert_string_equal(result->waits[1].message,
			    "waits for node n2 to be booted with image b, ready about 1970-01-01 00:17:40");
	assert_string_equal(result->waits[2].message,
			    "needs 9 CPUs on 9 nodes with image b; of 3 nodes that match, 3 can be used");
	assert_string_equal(result->waits[3].message, "waits for node n4 to be booted with image b and prepared with m:1");
	assert_string_equal(result->waits[4].message, "waits for node n5 to be put back to no preparation");
	assert_string_equal(result->waits[5].message,
			    "needs 9 CPUs on 9 nodes prepared with m; of 6 nodes that match, 6 can be used");
	assert_string_equal(result->waits[6].message, "waits for node n6 to be prepared with m");
	schedule_result_free(result);
	draw_free(d);
}

int main(void)
{
	enum { COUNT = sizeof setups / sizeof *setups };
	struct CMUnitTest tests[COUNT + 1];
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){setups[i].name, test_setup, NULL, NULL, (void *)&setups[i]};
	tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(test_words);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
