/* schedule_withdraw_test.c - pre-dispatched elements that nodes must give back. */
#include "jobmgr/schedule/schedule_withdraw.h"
#include "tests/unit/schedule_draw.h"

/* The result: a word for each array on a node, "A:n1". */
static const struct standing {
	const char *name, *nodes, *outages, *running, *queue, *answer;
} standings[] = {
	{"none, while the array is first", "n1 a", NULL, "a +60 of=A\nb - of=A ahead=n1\nc - of=A ahead=n1", "A array=20/-1/3",
	 ""},
	{"none for a step that goes later", "n1 a", NULL, "a +60 of=A\nb - of=A ahead=n1\nc - of=A ahead=n1",
	 "A array=20/-1/3\nB c=1", ""},
	{"all for a step that goes first", "n1 a\nn2 d", NULL,
	 "a +60 of=B\nb - of=B ahead=n1\nc - of=B ahead=n2\nd +60 of=B\ne - of=B ahead=n1", "A c=1\nB array=20/-1/5",
	 "B:n1 B:n2 "},
	{"none for a step that starts", "n1 a.", NULL, "a +60 of=B\nb - of=B ahead=n1\nc - of=B ahead=n1",
	 "A c=1\nB array=20/-1/3", ""},
	{"none for a step that no CPU helps", "n1 a", NULL, "a +60 of=B\nb - of=B ahead=n1\nc - of=B ahead=n1",
	 "A c=9\nB array=20/-1/3", ""},
	{"where a node is not usable", "n1 a down\nn2 b", NULL, "a +60 of=A\nb +60 of=A\nc - of=A ahead=n1\nd - of=A ahead=n2",
	 "A array=20/-1/4", "A:n1 "},
	{"all for an outage", "n1 a", "3 +300 +900 n1", "a +60 of=A\nb - of=A ahead=n1\nc - of=A ahead=n1", "A array=20/-1/3",
	 "A:n1 "},
	{"many of an array that has left the queue", "n1 a", NULL, "a +60 of=B\nb - of=B ahead=n1\nc - of=B ahead=n1", "A c=1",
	 "B:n1 "},
	{"not the last of an array", "n1 a", NULL, "a +60 of=B\nb - of=B ahead=n1", "A c=1", ""},
};

static void test_standing(void **state)
{
	const struct standing *s = *state;
	const struct schedule_withdrawal *list;
	struct draw *d = draw_new(s->nodes, NULL, NULL, s->running, s->queue);
	draw_lines(d, s->outages, draw_outage);
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	size_t count = schedule_withdraw(d->arena, &d->snapshot, result, &list);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < d->snapshot.node_count; k++)
			if (d->node[k].id == list[i].node_id)
				draw_say(d, "%c:%s ", 'A' + list[i].request, d->node[k].name);
	assert_string_equal(d->text, s->answer);
	schedule_result_free(result);
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
