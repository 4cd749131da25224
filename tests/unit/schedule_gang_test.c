/* schedule_gang_test.c - gangs with the same or other nodes; arrays; messages for users. */
#include "tests/unit/schedule_draw.h"

static const struct deciding {
	const char *name, *nodes, *partitions, *licenses, *running, *queue, *answer;
} decidings[] = {
	{"a set starts together", "n1 ..\nn2 .", NULL, NULL, NULL, "A with=0/2 c=2\nB with=0/2", "n1 AA\nn2 B\n"},
	{"... sharing a node where there is room", "n1 ...", NULL, NULL, NULL, "A with=0/2 c=2\nB with=0/2", "n1 AAB\n"},
	{"... or not at all", "n1 ..\nn2 a", NULL, NULL, "a +60", "A with=0/2 c=2 t=10\nB with=0/2 t=10\nC t=10",
	 "n1 C.\nn2 a\nA peer B +60 on n1\nB resources a +60 on n2\n"},
	{"... and is reserved for whole", "n1 ..\nn2 a", NULL, NULL, "a +60", "A with=0/2 c=2 t=10\nB with=0/2 t=10\nC t=61",
	 "n1 ..\nn2 a\nA peer B +60 on n1\nB resources a +60 on n2\nC priority A +70 on n2\n"},
	{"members that are not there", "n1 ...", NULL, NULL, NULL, "A with=0/3\nB with=0/3\nC", "n1 C..\nA peer\nB peer\n"},
	{"two sets of a job", "n1 ....", NULL, NULL, NULL, "A with=0/2\nB with=1/2 c=2\nC with=0/2\nD with=1/2 c=2",
	 "n1 AC..\nB peer D\nD resources A\n"},
	{"a set has the turn of its last member", "n1 ...", NULL, NULL, NULL, "A with=0/2\nB c=2\nC with=0/2",
	 "n1 BB.\nA peer C\nC resources B\n"},
	{"a member that could never run", "n1 ...", NULL, NULL, NULL, "A with=0/2\nB with=0/2 f=gold\nC",
	 "n1 C..\nA peer B\nB node\n"},
	{"a set that could never run together", "n1 ...", NULL, NULL, NULL, "A with=0/2 c=2\nB with=0/2 c=2\nC",
	 "n1 C..\nA peer B\nB node\n"},
	{"a set's licences", "n1 ...", NULL, "mat 2", NULL, "A with=0/2 l=mat:2\nB with=0/2 l=mat:1\nC l=mat:2",
	 "n1 C..\nA peer B\nB license\n"},
	{"members on the same nodes", "n1 ...\nn2 ....\nn3 ..", NULL, NULL, NULL, "A with=0/2 c=2\nB with=0/2 c=2 same=A",
	 "n1 ...\nn2 AABB\nn3 ..\n"},
	{"... on several", "n1 ..\nn2 ....\nn3 ....", NULL, NULL, NULL, "A with=0/2 n=2 k=4\nB with=0/2 k=2 n=2 same=A",
	 "n1 AB\nn2 AAAB\nn3 ....\n"},
	{"... three tasks of each, on nodes that hold them unevenly", "n1 ....\nn2 ..", NULL, NULL, NULL,
	 "A with=0/2 k=3\nB with=0/2 k=3 same=A", "n1 AABB\nn2 AB\n"},
	{"... on one node that holds all", "n1 ......\nn2 ..", NULL, NULL, NULL, "A with=0/2 k=3\nB with=0/2 k=3 same=A",
	 "n1 AAABBB\nn2 ..\n"},
	{"... on nodes that end one after the other", "n1 aa\nn2 bb\nn3 cc", NULL, NULL, "a +10\nb +20\nc +30",
	 "A with=0/2 k=3 t=10\nB with=0/2 k=3 same=A t=10",
	 "n1 aa\nn2 bb\nn3 cc\nA resources c +30 on n1,n2,n3\nB peer A +30 on n1,n2,n3\n"},
	{"... with more tasks of one than of the other, and memory", "n1 .... m=400\nn2 .. m=200", NULL, NULL, NULL,
	 "A with=0/2 k=2 mc=100\nB with=0/2 k=3 mc=100 same=A", "n1 ABB.\nn2 AB\n"},
	{"... whose features all must match", "n1 .. f=a\nn2 .. f=a,b", NULL, NULL, NULL, "A with=0/2 f=a\nB with=0/2 f=b same=A",
	 "n1 ..\nn2 AB\n"},
	{"... a chain of them", "n1 ..\nn2 ...\nn3 ...", NULL, NULL, NULL,
	 "A with=0/3 same=B\nB with=0/3\nC with=0/3 same=B off=n2", "n1 ..\nn2 ...\nn3 ACB\n"},
	{"... bound to nodes from outside", "n1 ..\nn2 ..", NULL, NULL, NULL, "A with=0/2\nB with=0/2 same=A nodes=n2",
	 "n1 ..\nn2 BA\n"},
	{"members on other nodes", "n1 ..\nn2 ..", NULL, NULL, NULL, "A with=0/2\nB with=0/2 other=A", "n1 A.\nn2 B.\n"},
	{"... the one with less choice first", "n1 ..\nn2 ..", NULL, NULL, NULL, "A with=0/2\nB with=0/2 other=A on=n1",
	 "n1 B.\nn2 A.\n"},
	{"... none left", "n1 ....", NULL, NULL, NULL, "A with=0/2\nB with=0/2 other=A\nC", "n1 C...\nA peer B\nB node\n"},
	{"a set over partitions", "n1 .\nn2 .", "p nodes=n1 prio=2\nq nodes=n2", NULL, NULL,
	 "A p=q\nB p=p with=1/2\nC p=q with=1/2", "n1 .\nn2 A\nB peer C\nC resources A\n"},

	{"an array fills what is free", "n1 ..\nn2 ..", NULL, NULL, NULL, "A array=9/-1/0 t=60\nB t=9",
	 "n1 AA\nn2 AA\nA resources A +60 on n1\nB resources A +60 on n1\n"},
	{"... from its next position, without those to skip", "n1 ....", NULL, NULL, NULL, "A array=6/-1/2 skip=0,3,4",
	 "n1 AA..\n"},
	{"... as many as %limit allows", "n1 ....", NULL, NULL, NULL, "A array=6/2/0\nB array=6/0/0\nC",
	 "n1 AAC.\nA array_limit\nB array_limit\n"},
	{"... and no more is there", "n1 ..", NULL, NULL, NULL, "A array=6/0/6\nB array=2/1/0 skip=0,1\nC", "n1 C.\n"},
	{"... of several nodes each", "n1 ..\nn2 ..\nn3 ..", NULL, NULL, NULL, "A array=3/-1/0 n=2",
	 "n1 AA\nn2 AA\nn3 ..\nA resources A\n"},
	{"... whose elements pass as backfill", "n1 a...", NULL, NULL, "a +100", "A c=4 t=10\nB array=5/-1/0 t=100",
	 "n1 aBBB\nA resources a +100 on n1\nB resources A +110 on n1\n"},
	{"... on what is kept for it", "n1 aab.\nn2 ....", NULL, NULL, "a - keep=A\nb -", "A array=4/-1/0 nodes=n1",
	 "n1 AAbA\nn2 ....\nA resources b\n"},
	{"an array in a set starts whole", "n1 ....", NULL, NULL, NULL, "A with=0/2 array=3/-1/0\nB with=0/2", "n1 AAAB\n"},
	{"... or not", "n1 ...a", NULL, NULL, "a +5", "A with=0/2 array=3/-1/0\nB with=0/2\nC with=2/2 array=3/2/0\nD with=2/2",
	 "n1 ...a\nA peer B +5 on n1\nB resources a +5 on n1\nC array_limit\nD peer C\n"},
};

static void test_deciding(void **state)
{
	const struct deciding *c = *state;
	struct draw *d = draw_new(c->nodes, c->partitions, c->licenses, c->running, c->queue);
	assert_string_equal(draw_answer(d, &schedule_policy_default), c->answer);
	draw_free(d);
}

static const char *message_of(const struct schedule_result *result, int step)
{
	for (size_t i = 0; i < result->wait_count; i++)
		if (result->waits[i].step == step)
			return result->waits[i].message;
	return "";
}

static void test_messages(void **state)
{
	(void)state;
	static const char *const message[] = {
		"needs 8 CPUs, 2 GB a node on 2 nodes; 1 node free; first to end: a at 1970-01-01 00:18:20; expected at "
		"1970-01-01 00:18:20 after a",
		"enough resources are free, but this step would delay 1.A, expected at 1970-01-01 00:18:20; expected at "
		"1970-01-01 00:19:20 after "
		"1.A",
		"needs 1 CPU, gpu:3 a node on 1 node; that is more than the 2 nodes that match have",
		"needs 1 CPU on 1 node; of 1 node that matches, 0 can be used",
		"needs 1 of license \"mat\"; 0 free; first to end: a at 1970-01-01 00:18:20; expected at 1970-01-01 00:19:20 "
		"after 1.A",
		"license \"mat\" goes to 1.E first",
		"partition \"q\" is down: no step starts in it",
		"starts together with 1 step that cannot start yet",
		"needs 300 s; its deadline is at 1970-01-01 00:18:20",
		"as many elements of the array run as its %limit allows",
		"needs 1 CPU on 1 node; no node matches what the step asks for",
	};
	struct draw *d = draw_new("n1 aaaa m=4096 g=gpu:2\nn2 .... m=4096\nn3 .... down", "p nodes=n1,n2,n3\nq down", "mat 1",
				  "a +100 l=mat:1",
				  "A k=8 n=2 m=2048 t=60\nB k=4 t=200\nC g=gpu:3\nD on=n3\nE l=mat:1 t=5\nF l=mat:1\nG p=q\n"
				  "H with=0/2\nI t=300 by=100\nJ array=3/0/0\nK f=gold");
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	for (size_t i = 0; i < sizeof message / sizeof *message; i++)
		assert_string_equal(message_of(result, (int)i), message[i]);
	schedule_result_free(result);
	/* Messages do not change with time alone, so an unchanged plan is not written again. */
	d->snapshot.now += 7;
	result = schedule_run(&d->snapshot, &schedule_policy_default);
	for (size_t i = 0; i < sizeof message / sizeof *message; i++)
		assert_string_equal(message_of(result, (int)i), message[i]);
	schedule_result_free(result);
	draw_free(d);
}

/* Nodes that are reserved for the successor of an ended step: one successor waits for resources, one for other steps. */
static void test_reserved(void **state)
{
	(void)state;
	struct draw *d = draw_new("n1 aa\nn2 ..\nn3 b.\nn4 cc", NULL, NULL, "a - keep=A\nb +60\nc - keep=Z",
				  "A nodes=n1,n3 k=2 c=2\nB on=n1,n2 n=2 k=2 c=2\nC on=n4");
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	assert_string_equal(message_of(result, 1), "needs 4 CPUs on 2 nodes; 1 node free; n1 is reserved for 1.A (--same-nodes)");
	assert_string_equal(message_of(result, 2),
			    "needs 1 CPU on 1 node; 0 nodes free; n4 is reserved for step 25 of job 1 (--same-nodes)");
	schedule_result_free(result);
	draw_free(d);
}

static void test_nothing(void **state)
{
	(void)state;
	const struct schedule_snapshot nothing = {0};
	struct schedule_result *result = schedule_run(&nothing, &schedule_policy_default);
	assert_int_equal(result->start_count, 0);
	assert_int_equal(result->wait_count, 0);
	schedule_result_free(result);
	struct draw *d = draw_new("", "p", NULL, NULL, "A");
	assert_string_equal(draw_answer(d, &schedule_policy_default), "A node\n");
	draw_free(d);
}

static void test_words(void **state)
{
	(void)state;
	static const char *const state_word[] = {"up", "down", "drain", "inactive"};
	for (size_t i = 0; i < sizeof state_word / sizeof *state_word; i++)
		assert_int_equal(schedule_state_of(state_word[i]), i);
	assert_int_equal(schedule_state_of("other"), SCHEDULE_INACTIVE);
	assert_int_equal(schedule_state_of(NULL), SCHEDULE_INACTIVE);
	assert_string_equal(schedule_reason_name(SCHEDULE_ARRAY_LIMIT), "array_limit");
}

int main(void)
{
	enum { COUNT = sizeof decidings / sizeof *decidings };
	setenv("TZ", "UTC", 1);
	struct CMUnitTest tests[COUNT + 4] = {[COUNT] = cmocka_unit_test(test_messages),
					      [COUNT + 1] = cmocka_unit_test(test_nothing),
					      [COUNT + 2] = cmocka_unit_test(test_words),
					      [COUNT + 3] = cmocka_unit_test(test_reserved)};
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){decidings[i].name, test_deciding, NULL, NULL, (void *)&decidings[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
