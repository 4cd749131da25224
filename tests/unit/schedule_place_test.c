/* schedule_place_test.c - the nodes that a step gets: choice, tasks, memory, devices, features, lists, nodes of peers. */
#include "tests/unit/schedule_draw.h"

static const struct placing {
	const char *name, *nodes, *licenses, *running, *queue, *answer;
} placings[] = {
	{"the node with the fewest free cpus that fit", "n1 ....\nn2 aa..\nn3 aaa.", NULL, "a -", "A c=2",
	 "n1 ....\nn2 aaAA\nn3 aaa.\n"},
	{"names in natural order break ties", "n10 ....\nn9 ....\nn2 ....", NULL, NULL, "A", "n10 ....\nn9 ....\nn2 A...\n"},
	{"a lower weight comes before a better fit", "n1 a... w=5\nn2 .... w=1", NULL, "a -", "A", "n1 a...\nn2 A...\n"},
	{"a negative weight is lower still", "n1 .\nn2 . w=-3", NULL, NULL, "A", "n1 .\nn2 A\n"},
	{"a node with data of the step comes before all others", "n1 aaa.\nn2 .... w=9\nn3 ....", NULL, "a -", "A data=n2\nB",
	 "n1 aaaB\nn2 A...\nn3 ....\n"},
	{"... if it has room", "n1 ....\nn2 aaa.", NULL, "a -", "A c=2 data=n2", "n1 AA..\nn2 aaa.\n"},
	{"... and more of them before others", "n1 ..\nn2 ..\nn3 ..\nn4 ..", NULL, NULL, "A n=2 k=4 data=n2,n4",
	 "n1 ..\nn2 AA\nn3 ..\nn4 AA\n"},
	{"... but no more nodes than without it", "n1 .\nn2 .\nn3 ....", NULL, NULL, "A k=3 data=n1,n2", "n1 .\nn2 .\nn3 AAA.\n"},
	{"tasks go to as few nodes as take them", "n1 ..\nn2 ....\nn3 ......", NULL, NULL, "A k=8",
	 "n1 AA\nn2 ....\nn3 AAAAAA\n"},
	{"... each filled in turn, none left empty", "n1 ....\nn2 ....\nn3 ....", NULL, NULL, "A n=3 k=6",
	 "n1 AAAA\nn2 A...\nn3 A...\n"},
	{"... the preferred nodes among those that take all", "n1 . w=1\nn2 ....\nn3 ....\nn4 ...", NULL, NULL, "A n=2 k=7",
	 "n1 .\nn2 AAAA\nn3 ....\nn4 AAA\n"},
	{"... and not one that the others could not make up for", "n1 .\nn2 ....\nn3 ....", NULL, NULL, "A n=2 k=6",
	 "n1 .\nn2 AAAA\nn3 AA..\n"},
	{"no more nodes than nodes_max", "n1 ..\nn2 ..\nn3 ..", NULL, NULL, "A n=1-2 k=5\nB n=1-3 k=5",
	 "n1 BB\nn2 BB\nn3 B.\nA node\n"},
	{"tasks per node spread a step", "n1 ....\nn2 ....", NULL, NULL, "A k=4 tpn=2", "n1 AA..\nn2 AA..\n"},
	{"cpus per task count whole", "n1 ...\nn2 ....", NULL, NULL, "A k=3 c=2", "n1 AA.\nn2 AAAA\n"},
	{"more nodes than tasks make a task for each", "n1 ..\nn2 ..", NULL, NULL, "A n=2 k=1", "n1 A.\nn2 A.\n"},
	{"memory of a node", "n1 .... m=100\nn2 .... m=200", NULL, NULL, "A m=150\nB m=100\nC m=60",
	 "n1 B...\nn2 A...\nC resources B\n"},
	{"memory by cpu", "n1 .... m=300\nn2 .... m=100", NULL, NULL, "A k=4 mc=100", "n1 AAA.\nn2 A...\n"},
	{"lowest free units", "n1 .... g=gpu:4", NULL, NULL, "A g=gpu:2\nB g=gpu:1", "n1 AB.. A=gpu:0,1 B=gpu:2\n"},
	{"units between others", "n1 a... g=gpu:4", NULL, "a - g=gpu:1", "A g=gpu:2", "n1 aA.. A=gpu:0,2\n"},
	{"units on each node", "n1 .. g=gpu:1\nn2 .. g=gpu:2\nn3 ..", NULL, NULL, "A n=2 g=gpu:1\nB g=gpu:1",
	 "n1 A. A=gpu:0\nn2 AB A=gpu:0 B=gpu:1\nn3 ..\n"},
	{"units that no node has", "n1 .. g=gpu:1", NULL, NULL, "A g=gpu:2\nB g=fpga:1\nC", "n1 C.\nA node\nB node\n"},
	{"exclusive takes a free node whole", "n1 a...\nn2 ....", NULL, "a -", "A x\nB", "n1 aB..\nn2 AAAA\n"},
	{"exclusive waits for one", "n1 a...", NULL, "a +60", "A x", "n1 a...\nA resources a +60 on n1\n"},
	{"exclusive with tasks takes whole nodes", "n1 ....\nn2 ....", NULL, NULL, "A x k=5", "n1 AAAA\nn2 AAAA\n"},
	{"features: and", "n1 . f=ssd\nn2 . f=ssd,ib\nn3 . f=ib", NULL, NULL, "A f=ssd&ib", "n1 .\nn2 A\nn3 .\n"},
	{"features: or, not, in that strength", "n1 . f=ssd,old\nn2 . f=ib\nn3 . f=ssd", NULL, NULL, "A f=ib|ssd&!old on=n1,n3",
	 "n1 .\nn2 .\nn3 A\n"},
	{"features: parentheses", "n1 . f=ib,old\nn2 . f=ssd", NULL, NULL, "A f=(ib|ssd)&!old", "n1 .\nn2 A\n"},
	{"features: one that no node has", "n1 . f=ssd", NULL, NULL, "A f=gold\nB f=!gold", "n1 B\nA node\n"},
	{"features: malformed matches nothing", "n1 . f=a", NULL, NULL, "A f=a&\nB f=(a\nC f=a)\nD f=!\nE f=&a\nF f=a!a",
	 "n1 .\nA node\nB node\nC node\nD node\nE node\nF node\n"},
	{"only the nodes of a list", "n1 .\nn2 .\nn3 .", NULL, NULL, "A on=n2,n3 n=2\nB off=n1,n9",
	 "n1 .\nn2 A\nn3 A\nB resources A\n"},
	{"a down node is no node", "n1 .. down\nn2 ..", NULL, NULL, "A on=n1\nB n=2\nC", "n1 ..\nn2 C.\nA node\nB node\n"},
	{"exactly the same nodes", "n1 .\nn2 ....\nn3 ....", NULL, NULL, "A nodes=n3,n2 k=6", "n1 .\nn2 AA..\nn3 AAAA\n"},
	{"... all of them or none", "n1 .\nn2 a", NULL, "a +50", "A nodes=n1,n2\nB t=50",
	 "n1 B\nn2 a\nA resources a +50 on n1,n2\n"},
	{"... not down ones", "n1 .\nn2 . down", NULL, NULL, "A nodes=n1,n2\nB nodes=n7\nC", "n1 C\nn2 .\nA node\nB node\n"},
	{"other nodes", "n1 .\nn2 .", NULL, NULL, "A away=n1\nB away=n1,n2", "n1 .\nn2 A\nB node\n"},
	{"kept for one step only", "n1 aa..\nn2 ....", NULL, "a - keep=C", "A c=3\nB c=2\nC nodes=n1 c=3",
	 "n1 aaBB\nn2 AAA.\nC resources B\n"},
	{"... which draws on it first", "n1 aaab g=gpu:3", NULL, "a - g=gpu:1,2 keep=A\nb -", "A nodes=n1 c=3 g=gpu:2",
	 "n1 AAAb A=gpu:1,2\n"},
	{"... and takes what is free for the rest", "n1 aab. g=gpu:3", NULL, "a - g=gpu:2 keep=A\nb -", "A nodes=n1 c=3 g=gpu:2",
	 "n1 AAbA A=gpu:2,0\n"},
	{"... licences too", "n1 a.\nn2 ..", "mat 1", "a - l=mat:1 keep=B", "A l=mat:1\nB nodes=n1 l=mat:1",
	 "n1 B.\nn2 ..\nA license\n"},
};

static void test_placing(void **state)
{
	const struct placing *p = *state;
	struct draw *d = draw_new(p->nodes, NULL, p->licenses, p->running, p->queue);
	assert_string_equal(draw_answer(d, &schedule_policy_default), p->answer);
	draw_free(d);
}

int main(void)
{
	enum { COUNT = sizeof placings / sizeof *placings };
	struct CMUnitTest tests[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){placings[i].name, test_placing, NULL, NULL, (void *)&placings[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
