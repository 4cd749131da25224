/* schedule_power_test.c - steps and nodes that are powered off: such nodes are chosen after powered ones, waited for, and
 * requested. */
#include "tests/unit/schedule_draw.h"

static const struct schedule_policy strict = {false, 1};

static const struct powered {
	const char *name, *nodes, *running, *queue, *answer;
	const struct schedule_policy *policy;
} powered[] = {
	{"nodes that are on come first", "n1 .. off\nn2 .. coming\nn3 .. w=99", NULL, "A c=2", "n1 ..\nn2 ..\nn3 AA\n", NULL},
	{"then those that are being powered on", "n1 .. off\nn2 .. coming\nn3 aa w=99", "a +60", "A c=2",
	 "n1 ..\nn2 ..\nn3 aa\nA power on n2\n", NULL},
	{"then those that are off, by weight", "n1 .. off w=2\nn2 .. off w=1\nn3 aa", "a +60", "A c=2",
	 "n1 ..\nn2 ..\nn3 aa\nA power on n2\nwake n2\n", NULL},
	{"failing nodes are last all the same", "n1 .. failing\nn2 .. off", NULL, "A c=2",
	 "n1 ..\nn2 ..\nA power on n2\nwake n2\n", NULL},
	{"a node that is down is not powered on", "n1 .. off down", NULL, "A", "n1 ..\nA node\n", NULL},
	{"two steps share a node that comes", "n1 .. off", NULL, "A\nB", "n1 ..\nA power on n1\nB power on n1\nwake n1\n", NULL},
	{"a third one needs another", "n1 .. off\nn2 .. off", NULL, "A\nB\nC",
	 "n1 ..\nn2 ..\nA power on n1\nB power on n1\nC power on n2\nwake n1,n2\n", NULL},
	{"or waits for what is placed there", "n1 .. off", NULL, "A c=2 t=60\nB c=2",
	 "n1 ..\nA power on n1\nB resources A +60 on n1\nwake n1\n", NULL},
	{"nodes that are on are kept for the others", "n1 ..\nn2 .. off", NULL, "A n=2 x\nB",
	 "n1 ..\nn2 ..\nA power on n1,n2\nB resources A\nwake n2\n", NULL},
	{"what does not fit there starts beside it", "n1 ..\nn2 .. off", NULL, "A on=n2\nB",
	 "n1 B.\nn2 ..\nA power on n2\nwake n2\n", &strict},
	{"named nodes", "n1 ..\nn2 .. off", NULL, "A on=n2", "n1 ..\nn2 ..\nA power on n2\nwake n2\n", NULL},
	{"a gang waits whole", "n1 ..\nn2 .. off", NULL, "A with=0/2 c=2\nB with=0/2 c=2",
	 "n1 ..\nn2 ..\nA power on n1\nB power on n2\nwake n2\n", NULL},
	{"an array wakes what it needs, and starts where it can", "n1 .\nn2 . off\nn3 . off\nn4 . off", NULL, "A array=3/-1/0",
	 "n1 A\nn2 .\nn3 .\nn4 .\nA power on n2,n3\nwake n2,n3\n", NULL},
	{"as many elements as may run", "n1 .\nn2 . off\nn3 . off\nn4 . off", NULL, "A array=9/2/0",
	 "n1 A\nn2 .\nn3 .\nn4 .\nA power on n2\nwake n2\n", NULL},
	{"an array that has more than there is waits for power", "n1 .\nn2 . off", NULL, "A array=9/-1/0 t=60",
	 "n1 A\nn2 .\nA power on n2\nwake n2\n", NULL},
	{"none is pre-dispatched there", "n1 . off", NULL, "A array=9/-1/0 ahead=8 t=60", "n1 .\nA power on n1\nwake n1\n", NULL},
};

static void test_powered(void **state)
{
	const struct powered *p = *state;
	struct draw *d = draw_new(p->nodes, NULL, NULL, p->running, p->queue);
	assert_string_equal(draw_answer(d, p->policy ? p->policy : &schedule_policy_default), p->answer);
	draw_free(d);
}

static void test_words(void **state)
{
	(void)state;
	struct draw *d = draw_new("n1 . off\nn2 . coming\nn3 .\nn4 . off\nn5 . off\nn6 . off", NULL, NULL, NULL,
				  "A on=n1\nB n=2 on=n2,n3\nC n=5 on=n1,n2,n4,n5,n6");
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	assert_int_equal(result->wait_count, 3);
	assert_string_equal(result->waits[0].message, "waits for node n1 to be powered on");
	assert_string_equal(result->waits[1].message, "waits for node n2 to be powered on");
	assert_int_equal(result->waits[2].reason, SCHEDULE_RESOURCES);
	schedule_result_free(result);
	d->snapshot.pending++, d->snapshot.pending++;
	d->snapshot.pending_count = 1;
	result = schedule_run(&d->snapshot, &schedule_policy_default);
	assert_string_equal(result->waits[0].message, "waits for nodes n1, n2, n4, n5 and others to be powered on");
	assert_int_equal(result->wake_count, 4);
	schedule_result_free(result);
	draw_free(d);
}

int main(void)
{
	enum { COUNT = sizeof powered / sizeof *powered };
	struct CMUnitTest tests[COUNT + 1];
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){powered[i].name, test_powered, NULL, NULL, (void *)&powered[i]};
	tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(test_words);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
