/* schedule_predispatch_test.c - the arrays of which elements are pre-dispatched, on which nodes, and how many. */
#include "tests/unit/schedule_draw.h"

static const struct standing {
	const char *name, *nodes, *licenses, *running, *queue, *answer;
} standings[] = {
	{"behind what runs", "n1 ab", NULL, "a +60 of=A\nb +60 of=A", "A array=20/-1/2 ahead=4",
	 "n1 ab A+4\nA resources A +60 on n1\n"},
	{"none, unless it is said how many", "n1 a", NULL, "a +60 of=A", "A array=20/-1/2", "n1 a\nA resources A +60 on n1\n"},
	{"behind what starts now", "n1 ..", NULL, NULL, "A array=20/-1/0 ahead=3 t=60", "n1 AA A+3\nA resources A +60 on n1\n"},
	{"eight for each that runs, at the most", "n1 ab", NULL, "a +60 of=A\nb +60 of=A", "A array=20/-1/2 ahead=99",
	 "n1 ab A+16\nA resources A +60 on n1\n"},
	{"no more than are left", "n1 ab", NULL, "a +60 of=A\nb +60 of=A", "A array=5/-1/2 ahead=99", "n1 ab A+3\n"},
	{"those that stand there count", "n1 ab", NULL, "a +60 of=A\nb +60 of=A\nc - of=A ahead=n1", "A array=20/-1/3 ahead=4",
	 "n1 ab A+3\nA resources A +60 on n1\n"},
	{"one on each node in turn", "n1 a\nn2 b\nn3 c", NULL, "a +60 of=A\nb +60 of=A\nc +60 of=A\nd - of=A ahead=n3",
	 "A array=20/-1/4 ahead=6", "n1 a A+2\nn2 b A+2\nn3 c A+1\nA resources A +60 on n1\n"},
	{"only where it runs", "n1 a\nn2 b", NULL, "a +60 of=A\nb +90", "A array=20/-1/1 ahead=2",
	 "n1 a A+2\nn2 b\nA resources A +60 on n1\n"},
	{"only where it may start", "n1 a down\nn2 b", NULL, "a +60 of=A\nb +60 of=A", "A array=20/-1/2 ahead=2",
	 "n1 a\nn2 b A+2\nA resources A +60 on n2\n"},
	{"memory is held", "n1 ab m=100", NULL, "a +60 of=A m=30\nb +60 of=A m=30", "A array=20/-1/2 m=30 ahead=4",
	 "n1 ab A+1\nA resources A +60 on n1\n"},
	{"for seconds, as many as the rate says", "n1 ab", NULL, "a +60 of=A\nb +60 of=A", "A array=90/-1/2 ahead=40 seconds",
	 "n1 ab A+40\nA resources A +60 on n1\n"},
	{"for seconds, by what runs on each node", "n1 abc\nn2 d", NULL, "a +60 of=A\nb +60 of=A\nc +60 of=A\nd +60 of=A",
	 "A array=90/-1/4 ahead=60 seconds", "n1 abc A+45\nn2 d A+15\nA resources A +60 on n2\n"},
	{"for seconds, memory is held", "n1 ab m=100", NULL, "a +60 of=A m=20\nb +60 of=A m=20",
	 "A array=90/-1/2 m=20 ahead=40 seconds", "n1 ab A+3\nA resources A +60 on n1\n"},
	{"for seconds, all but the last element", "n1 ab", NULL, "a +60 of=A\nb +60 of=A", "A array=12/-1/2 ahead=40 seconds",
	 "n1 ab A+9\nA resources A +60 on n1\n"},
	{"for seconds, the last one when few are left", "n1 ab", NULL, "a +60 of=A\nb +60 of=A\nc - of=A ahead=n1",
	 "A array=4/-1/3 ahead=40 seconds", "n1 ab A+1\n"},
	{"not where another step goes first", "n1 ab", NULL, "a +60 of=B\nb +60 of=B", "A c=2\nB array=20/-1/2 ahead=4",
	 "n1 ab\nA resources A +60 on n1\nB resources A\n"},
	{"not where fewer may start than are left", "n1 a", NULL, "a +60 of=A", "A array=20/3/1 ahead=4",
	 "n1 a\nA resources A +60 on n1\n"},
	{"not of several tasks", "n1 aa", NULL, "a +60 of=A", "A array=20/-1/1 k=2 ahead=4", "n1 aa\nA resources A +60 on n1\n"},
	{"not of whole nodes", "n1 aa", NULL, "a +60 of=A", "A array=20/-1/1 x ahead=4", "n1 aa\nA resources A +60 on n1\n"},
	{"not with units", "n1 a. g=gpu:1", NULL, "a +60 of=A g=gpu:0", "A array=20/-1/1 g=gpu:1 ahead=4",
	 "n1 a.\nA resources A +60 on n1\n"},
	{"not with licences", "n1 a.", "mat 1", "a +60 of=A l=mat:1", "A array=20/-1/1 l=mat:1 ahead=4",
	 "n1 a.\nA license A +60 on n1\n"},
	{"not with a deadline", "n1 a", NULL, "a +60 of=A", "A array=20/-1/1 by=900 t=60 ahead=4",
	 "n1 a\nA resources A +60 on n1\n"},
};

static void test_standing(void **state)
{
	const struct standing *s = *state;
	struct draw *d = draw_new(s->nodes, NULL, s->licenses, s->running, s->queue);
	assert_string_equal(draw_answer(d, &schedule_policy_default), s->answer);
	draw_free(d);
}

int main(void)
{
	enum { COUNT = sizeof standings / sizeof *standings };
	struct CMUnitTest tests[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){standings[i].name, test_standing, NULL, NULL, (void *)&standings[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
