/* schedule_order_test.c - the order of starts: strict order, backfill, partitions, licences, time limits, deadlines. */
#include "tests/unit/schedule_draw.h"

static const struct schedule_policy strict = {.backfill = false}, easy = {.backfill = true, .reservations = 1},
				    two = {.backfill = true, .reservations = 2};

static const struct ordering {
	const char *name, *nodes, *partitions, *licenses, *running, *queue;
	const struct schedule_policy *policy;
	const char *answer;
} orderings[] = {
	{"in order", "n1 ...", NULL, NULL, NULL, "A\nB\nC\nD", &strict, "n1 ABC\nD resources A\n"},
	{"strict: nothing passes", "n1 aa..", NULL, NULL, "a +100", "A c=3\nB\nC", &strict,
	 "n1 aa..\nA resources a +100 on n1\nB priority A\nC priority A\n"},
	{"backfill: what ends in time passes", "n1 aa..", NULL, NULL, "a +100", "A c=4\nB t=100\nC t=101\nD t=99", &easy,
	 "n1 aaBD\nA resources a +100 on n1\nC priority A\n"},
	{"... and what needs nothing of the reservation", "n1 aaaa.\nn2 .", NULL, NULL, "a +100", "A c=4 t=10\nB\nC\nD t=9",
	 &easy, "n1 aaaaB\nn2 C\nA resources a +100 on n1\nD resources a\n"},
	{"... without a limit only that", "n1 aa..\nn2 .", NULL, NULL, "a +100", "A c=4\nB c=2\nC", &easy,
	 "n1 aa..\nn2 C\nA resources a +100 on n1\nB priority A\n"},
	{"one reservation protects one step", "n1 aa..\nn2 bbb.", NULL, NULL, "a +100\nb +50",
	 "A c=4 on=n1\nB c=4 on=n2\nC t=200 on=n2", &easy, "n1 aa..\nn2 bbbC\nA resources a +100 on n1\nB resources b\n"},
	{"two protect two", "n1 aa..\nn2 bbb.", NULL, NULL, "a +100\nb +50", "A c=4 on=n1\nB c=4 on=n2\nC t=200 on=n2", &two,
	 "n1 aa..\nn2 bbb.\nA resources a +100 on n1\nB resources b +50 on n2\nC priority B\n"},
	{"a reservation stands behind another", "n1 aa", NULL, NULL, "a +100", "A c=2 t=50\nB c=2 t=50\nC c=2 t=5",
	 &schedule_policy_default, "n1 aa\nA resources a +100 on n1\nB resources A +150 on n1\nC resources B +200 on n1\n"},
	{"... or in the gap before it", "n1 abb", NULL, NULL, "a +100\nb +20", "A c=3 t=50\nB c=2 t=80\nC c=2 t=81",
	 &schedule_policy_default, "n1 abb\nA resources a +100 on n1\nB resources b +20 on n1\nC resources A +150 on n1\n"},
	{"what has no limit blocks for ever, and what has one passes", "n1 a...", NULL, NULL, "a -", "A c=4\nB\nC t=100000",
	 &easy, "n1 aC..\nA resources a\nB priority A\n"},
	{"one that is late is about to end", "n1 aa", NULL, NULL, "a -50", "A", &easy, "n1 aa\nA resources a +1 on n1\n"},
	{"memory is reserved too", "n1 a... m=100", NULL, NULL, "a +100 m=50", "A m=80\nB m=20\nC m=30 t=100\nD m=20 t=500",
	 &easy, "n1 aBC.\nA resources a +100 on n1\nD resources a\n"},
	{"units are reserved too", "n1 a... g=gpu:2", NULL, NULL, "a +100 g=gpu:1", "A g=gpu:2\nB g=gpu:1\nC g=gpu:1 t=100\nD",
	 &easy, "n1 aCD. C=gpu:0\nA resources a +100 on n1\nB priority A\n"},
	{"a step that can never run blocks nobody", "n1 .. f=x\nn2 .. down", NULL, NULL, "",
	 "A c=3\nB on=n2\nC f=y\nD n=2\nE c=2", &strict, "n1 EE\nn2 ..\nA node\nB node\nC node\nD node\n"},
	{"higher partitions first", "n1 ..", "low nodes=n1\nhigh nodes=n1 prio=5", NULL, NULL, "A p=low\nB p=high\nC p=high c=2",
	 &strict, "n1 B.\nA priority C\nC resources B\n"},
	{"a partition's queue does not hold up another's nodes", "n1 a\nn2 .", "p nodes=n1\nq nodes=n2", NULL, "a +9",
	 "A p=p\nB p=q", &strict, "n1 a\nn2 B\nA resources a +9 on n1\n"},
	{"reservations bind the partitions that share nodes", "n1 a.\nn2 .", "p nodes=n1 prio=2\nq nodes=n1,n2", NULL, "a +100",
	 "A p=p c=2\nB p=q n=2\nC p=q t=100\nD p=q t=200", &easy, "n1 aC\nn2 D\nA resources a +100 on n1\nB priority A\n"},
	{"states of partitions", "n1 ......", "u nodes=n1\nd nodes=n1 down\nr nodes=n1 drain\ni nodes=n1 inactive", NULL, NULL,
	 "A p=u\nB p=d\nC p=r\nD p=i\nE p=none\nF p=u", &strict, "n1 ACF...\nB partition\nD partition\nE partition\n"},
	{"limits of a partition", "n1 ....\nn2 .", "p nodes=n1,n2 time=100 max=1", NULL, NULL,
	 "A t=101\nB\nC t=100\nD n=2 t=9\nE t=200 tmin=50\nF k=5 t=9", &strict,
	 "n1 E...\nn2 C\nE t=100\nA limit\nB limit\nD limit\nF node\n"},
	{"a licence that is not free blocks those who want it", "n1 a...", NULL, "mat 2\nlab 1", "a +60 l=mat:1",
	 "A l=mat:2\nB l=mat:1\nC l=lab:1\nD", &strict, "n1 aCD.\nA license a +60 on n1\nB license A\n"},
	{"licences that do not exist", "n1 ..", NULL, "mat 2", NULL, "A l=mat:3\nB l=lab:1\nC l=mat:2", &strict,
	 "n1 C.\nA license\nB license\n"},
	{"a licence is reserved with the nodes", "n1 a.\nn2 ..", NULL, "mat 1", "a +100",
	 "A on=n1 c=2 l=mat:1\nB l=mat:1 t=101\nC l=mat:1 t=50", &easy, "n1 aC\nn2 ..\nA resources a +100 on n1\nB priority A\n"},
	{"a shorter time to fit before a reservation", "n1 aa..", NULL, NULL, "a +100",
	 "A c=4\nB t=500 tmin=60\nC t=500 tmin=101\nD tmin=7 c=1", &easy,
	 "n1 aaBD\nB t=100\nD t=100\nA resources a +100 on n1\nC priority A\n"},
	{"the full time where nothing hinders", "n1 ..", NULL, NULL, NULL, "A t=500 tmin=60\nB t=7 tmin=9", &easy, "n1 AB\n"},
	{"the longest time that fits", "n1 aab...", NULL, NULL, "a +100\nb +50",
	 "A c=4 t=9\nB c=6 t=60\nC t=200 tmin=20 c=3\nD t=300 tmin=20 c=2", &schedule_policy_default,
	 "n1 aabCCC\nC t=50\nA resources b +50 on n1\nB resources a +100 on n1\nD resources B +160 on n1\n"},
	{"each try again with what is kept", "n1 kka.", NULL, NULL, "a +100\nk - keep=B",
	 "A c=2 t=10\nB nodes=n1 c=3 t=500 tmin=10", &easy, "n1 BBaB\nB t=100\nA resources a +100 on n1\n"},
	{"what was kept and not taken is soon free", "n1 aakk..", NULL, NULL, "a +100\nk - keep=B",
	 "A c=4 t=10\nB nodes=n1 t=500\nC t=500", &easy, "n1 aaBC..\nA resources a +100 on n1\n"},
	{"elements alike, on the best node each", "n1 a.. w=1\nn2 b.", NULL, NULL, "a +100\nb +100",
	 "A n=2 c=2 t=10\nB array=2/-1/0 t=500 tmin=10", &easy, "n1 aB.\nn2 bB\nB t=100\nA resources a +100 on n1,n2\n"},
	{"deadlines", "n1 aa..", NULL, NULL, "a +50", "A t=100 by=99\nB t=100 by=100\nC t=300 tmin=20 by=100\nD by=70 c=3", &easy,
	 "n1 aaBC\nC t=100\nA deadline\nD resources a\n"},
	{"a start past the deadline is not reserved", "n1 aa..", NULL, NULL, "a +50", "A t=100 by=120 c=4\nB t=1000 c=2", &easy,
	 "n1 aaBB\nA resources a\n"},
};

static void test_ordering(void **state)
{
	const struct ordering *o = *state;
	struct draw *d = draw_new(o->nodes, o->partitions, o->licenses, o->running, o->queue);
	assert_string_equal(draw_answer(d, o->policy), o->answer);
	draw_free(d);
}

int main(void)
{
	enum { COUNT = sizeof orderings / sizeof *orderings };
	struct CMUnitTest tests[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){orderings[i].name, test_ordering, NULL, NULL, (void *)&orderings[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
