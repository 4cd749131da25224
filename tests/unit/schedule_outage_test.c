/* schedule_outage_test.c - tests steps near outages. A step that ends before the outage starts. A step that would overlap the
 * outage waits, and its expected start is after the outage. Nodes that are failing are chosen last. */
#include "tests/unit/schedule_draw.h"

static const struct schedule_policy strict = {false, 1};

static const struct outing {
	const char *name, *nodes, *outages, *running, *queue, *answer;
	const struct schedule_policy *policy;
} outings[] = {
	{"what ends before it begins starts", "n1 ..", "1 +600 +900 n1", NULL, "A t=600", "n1 A.\n", NULL},
	{"what would run into it waits for its end", "n1 ..", "1 +600 +900 n1", NULL, "A t=601",
	 "n1 ..\nA maintenance +900 on n1\n", NULL},
	{"... or takes another node", "n1 ..\nn2 ..", "1 +600 +900 n1", NULL, "A t=601", "n1 ..\nn2 A.\n", NULL},
	{"what has no time limit runs into every one", "n1 ..", "1 +600000 +600001 n1", NULL, "A",
	 "n1 ..\nA maintenance +600001 on n1\n", NULL},
	{"in the middle of it nothing starts", "n1 ..", "1 -60 +900 n1", NULL, "A t=1", "n1 ..\nA maintenance +900 on n1\n",
	 NULL},
	{"it begins this moment", "n1 ..", "1 +0 +900 n1", NULL, "A t=1", "n1 ..\nA maintenance +900 on n1\n", NULL},
	{"what is over is nothing", "n1 ..", "1 -60 +0 n1", NULL, "A", "n1 A.\n", NULL},
	{"for good: not expected", "n1 ..", "0 +600 - n1", NULL, "A t=601\nB t=600", "n1 B.\nA maintenance\n", NULL},
	{"who is let in", "n1 ....", "1 +60 +900 n1", NULL, "A t=600 in=1\nB t=600 in=2\nC",
	 "n1 A...\nB maintenance +900 on n1\nC maintenance +900 on n1\n", NULL},
	{"nobody is let into a drain", "n1 ..", "0 +60 - n1", NULL, "A t=600 in=0", "n1 ..\nA maintenance\n", NULL},
	{"let into one is not let into the other", "n1 ..", "1 +60 +900 n1\n2 +100 +200 n1", NULL, "A t=600 in=1",
	 "n1 ..\nA maintenance +200 on n1\n", NULL},
	{"between two of them", "n1 ..", "1 +60 +90 n1\n1 +160 +190 n1", NULL, "A t=70\nB t=71",
	 "n1 ..\nA maintenance +90 on n1\nB maintenance +190 on n1\n", NULL},
	{"again on the same nodes", "n1 ..\nn2 ..", "1 +60 +90 n1\n1 +160 +190\n2 +160 +190 n2\n2 +200 +210", NULL,
	 "A t=120\nB t=130 on=n1\nC t=170 on=n2", "n1 ..\nn2 A.\nB maintenance +190 on n1\nC maintenance +210 on n2\n", NULL},
	{"a step of many nodes needs all of them", "n1 .\nn2 .\nn3 .", "1 +60 +90 n2,n3", NULL, "A n=2 t=70",
	 "n1 .\nn2 .\nn3 .\nA maintenance +90 on n1,n2\n", NULL},
	{"named nodes", "n1 .\nn2 .", "1 +60 +90 n2", NULL, "A on=n2 t=70", "n1 .\nn2 .\nA maintenance +90 on n2\n", NULL},
	{"the nodes of a peer", "n1 .\nn2 .", "1 +60 +90 n2", NULL, "A nodes=n2 t=70", "n1 .\nn2 .\nA maintenance +90 on n2\n",
	 NULL},
	{"the limit is cut where it may be", "n1 ..", "1 +600 +900 n1", NULL, "A t=3600 tmin=300", "n1 A.\nA t=600\n", NULL},
	{"... not below what it needs", "n1 ..", "1 +200 +900 n1", NULL, "A t=3600 tmin=300", "n1 ..\nA maintenance +900 on n1\n",
	 NULL},
	{"... to the longest that fits on some node", "n1 .\nn2 .", "1 +600 +900 n1\n1 +700 +900 n2", NULL, "A t=3600 tmin=300",
	 "n1 .\nn2 A\nA t=700\n", NULL},
	{"what waits for nodes is expected behind it", "n1 a.", "1 +600 +900 n1", "a +300", "A c=2 t=400",
	 "n1 a.\nA resources +900 on n1\n", NULL},
	{"... or before it, when there is time", "n1 a.", "1 +600 +900 n1", "a +300", "A c=2 t=300",
	 "n1 a.\nA resources a +300 on n1\n", NULL},
	{"who waits for its end has a place behind it", "n1 .", "1 +60 +90 n1", NULL, "A t=70\nB t=70\nC t=60",
	 "n1 C\nA maintenance +90 on n1\nB maintenance +160 on n1\n", NULL},
	{"... that a step let in does not take", "n1 .", "1 +60 +90 n1", NULL, "A t=70\nB t=100 in=1",
	 "n1 .\nA maintenance +90 on n1\nB priority A +160 on n1\n", NULL},
	{"in strict order, too, what ends before goes first", "n1 ..", "1 +60 +90 n1", NULL, "A t=70\nB t=60",
	 "n1 B.\nA maintenance +90 on n1\n", &strict},
	{"... not past what waits for nodes", "n1 .a", "1 +60 +90 n1", "a +10", "A c=2 t=20\nB t=60",
	 "n1 .a\nA resources a +10 on n1\nB priority A\n", &strict},
	{"what could never run is refused so", "n1 ..", "1 +600 +900 n1", NULL, "A c=3 t=1000", "n1 ..\nA node\n", NULL},
	{"a set starts whole or waits whole", "n1 ..\nn2 ..", "1 +60 +90 n1", NULL,
	 "A t=70 with=0/2 on=n1\nB t=70 with=0/2 on=n2", "n1 ..\nn2 ..\nA maintenance +90 on n1\nB peer A +90 on n2\n", NULL},
	{"elements of an array", "n1 ..", "1 +60 +90 n1", NULL, "A t=70 array=4/-1/0", "n1 ..\nA maintenance +90 on n1\n", NULL},
	{"failing nodes are taken last", "n1 .. failing\nn2 .. w=9\nn3 .. w=99", NULL, NULL, "A c=2\nB c=2\nC c=2",
	 "n1 CC\nn2 AA\nn3 BB\n", NULL},
};

static void test_outing(void **state)
{
	const struct outing *o = *state;
	struct draw *d = draw_new(o->nodes, NULL, NULL, o->running, o->queue);
	draw_lines(d, o->outages, draw_outage);
	assert_string_equal(draw_answer(d, o->policy ? o->policy : &schedule_policy_default), o->answer);
	draw_free(d);
}

static void test_words(void **state)
{
	(void)state;
	struct draw *d = draw_new("n1 ..", NULL, NULL, NULL, "A c=2 t=700");
	draw_lines(d, "7 +600 +900 n1", draw_outage);
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	assert_int_equal(result->wait_count, 1);
	assert_string_equal(result->waits[0].message,
			    "needs 2 CPUs on 1 node for 700 s, which would run into outage 7; expected at 1970-01-01 00:31:40");
	schedule_result_free(result);
	draw_free(d);
}

int main(void)
{
	enum { COUNT = sizeof outings / sizeof *outings };
	struct CMUnitTest tests[COUNT + 1];
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){outings[i].name, test_outing, NULL, NULL, (void *)&outings[i]};
	tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(test_words);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
