/* schedule_moves_test.c - proposed moves of running steps: to make room for a waiting step, or to empty a node. */
#include "jobmgr/schedule/schedule_moves.h"
#include "tests/unit/schedule_draw.h"

/* Running steps with a tier can be moved; lost: seconds that a move costs; from: seconds until its node would be off. The result:
 * a line for each move, "A gains 50*2 a:n1>n2". */
static const struct standing {
	const char *name, *nodes, *running, *queue, *answer;
} standings[] = {
	{"room for a wide step", "n1 a.\nn2 b.", "a +60 tier=0 lost=5\nb +90", "A c=2", "A gains 60*2 costs 5 a:n1>n2\n"},
	{"nobody who cannot be moved", "n1 a.\nn2 b.", "a +60\nb +90", "A c=2", ""},
	{"nobody where it costs more", "n1 a.\nn2 b.", "a +60 tier=0 lost=200\nb +90", "A c=2", ""},
	{"nobody who has no other place", "n1 a.\nn2 bb", "a +60 tier=0 lost=5\nb +90", "A c=2", ""},
	{"another one, if the first has none", "n1 aab\nn2 c..\nn3 d..", "a +60 tier=0 lost=1\nb +60 tier=0 lost=2\nc +90\nd +90",
	 "A c=3 on=n1", "A gains 60*3 costs 4 a:n1>n2 b:n1>n3\n"},
	{"not at the cost of who is ahead", "n1 a.\nn2 b.\nn3 cc", "a +60 tier=0 lost=5\nb +90\nc +30",
	 "A n=3 c=1 t=10\nB c=2 t=900", ""},
	{"an empty node", "n1 a...\nn2 bb..", "a +60 tier=0 lost=5\nb +90", NULL, "n1 gains 60*4 costs 5 a:n1>n2\n"},
	{"... less the time until it is off", "n1 a...\nn2 bb..", "a +60 tier=0 lost=5 from=58\nb +90", NULL,
	 "n1 gains 2*4 costs 5 a:n1>n2\n"},
	{"... if that is worth it", "n1 a...\nn2 bb..", "a +60 tier=0 lost=5 from=59\nb +90", NULL, ""},
	{"not one that stays on", "n1 a...\nn2 bb..", "a +60 tier=0 lost=5 from=inf\nb +90", NULL, ""},
	{"not onto an empty one", "n1 a.\nn2 ..", "a +60 tier=0 lost=5", NULL, ""},
	{"not a node with anything else", "n1 ac..\nn2 bb..", "a +60 tier=0 lost=5\nb +90\nc +90", NULL, ""},
	{"not while anything waits", "n1 a...\nn2 bb..", "a +60 tier=0 lost=5\nb +90", "A c=9", ""},
	{"nodes one after the other", "n1 a...\nn2 bb..\nn3 cc..", "a +60 tier=0 lost=5\nb +90 tier=0 lost=5\nc +90", NULL,
	 "n1 gains 60*4 costs 5 a:n1>n2\n"},
};

static void moves_draw(struct draw *d, const struct schedule_moves *moves)
{
	for (size_t i = 0; i < moves->count; i++) {
		const struct schedule_move *move = &moves->list[i];
		if (move->kind == SCHEDULE_MOVE_ROOM)
			draw_say(d, "%c", 'A' + d->snapshot.pending[move->pending].step);
		else
			draw_say(d, "n%d", move->node_id - 9);
		draw_say(d, " gains %.0f*%d costs %.0f", move->gain_s, move->cpus, move->cost);
		for (size_t k = 0; k < move->count; k++)
			draw_say(d, " %c:n%d>n%d", (int)('a' + move->list[k].mover->request.job - 100), move->list[k].from_id - 9,
				 move->list[k].to_id - 9);
		draw_say(d, "\n");
	}
}

/* Make movers of the candidates; each requests the resources that it has. */
static size_t movers_make(const struct draw *d, struct schedule_mover *movers)
{
	for (size_t i = 0; i < d->candidate_count; i++) {
		const struct schedule_candidate *one = &d->candidate[i];
		struct schedule_mover *mover = &movers[i];
		*mover = (struct schedule_mover){.request = {.job = one->job,
							     .step = one->step,
							     .name = "moved",
							     .partition = d->snapshot.partitions[0].name,
							     .nodes_min = 1,
							     .array_free_slots = -1,
							     .with_set = -1,
							     .time_limit_s = 100},
						 .cost_s = one->lost_s,
						 .off_after_s = one->from_at};
		for (size_t k = 0; k < d->snapshot.running_count; k++)
			if (d->snapshot.running[k].job == one->job)
				mover->request.cpus_per_task += d->snapshot.running[k].cpus;
	}
	return d->candidate_count;
}

/* Compare the moves that are proposed within a bound with the expected ones. */
static void standing_assert(const struct standing *s, struct schedule_moves_bound bound, const char *answer)
{
	struct schedule_mover movers[16];
	struct draw *d = draw_new(s->nodes, NULL, NULL, s->running, s->queue);
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	size_t count = movers_make(d, movers);
	struct schedule_moves moves =
		schedule_moves(d->arena, &d->snapshot, &schedule_policy_default, result, movers, count, bound);
	moves_draw(d, &moves);
	assert_string_equal(d->text, answer);
	schedule_result_free(result);
	draw_free(d);
}

static void test_standing(void **state)
{
	const struct standing *s = *state;
	standing_assert(s, (struct schedule_moves_bound){.waits = SCHEDULE_MOVES_WAITS_MOST}, s->answer);
}

/* A clock whose time is over after so many calls. */
static bool count_is_over(void *arg)
{
	int *left = arg;
	return (*left)-- <= 0;
}

static void test_bound(void **state)
{
	const struct standing *room = &standings[0], *another = &standings[4];
	int none = 0, one_try = 2, two_tries = 3;
	(void)state;
	standing_assert(room, (struct schedule_moves_bound){.waits = 0}, "");
	standing_assert(room, (struct schedule_moves_bound){.waits = 1}, room->answer);
	standing_assert(room, (struct schedule_moves_bound){.waits = 1, .is_over = count_is_over, .arg = &none}, "");
	standing_assert(room, (struct schedule_moves_bound){.waits = 1, .is_over = count_is_over, .arg = &one_try}, room->answer);
	standing_assert(another, (struct schedule_moves_bound){.waits = 1, .is_over = count_is_over, .arg = &two_tries},
			another->answer);
}

int main(void)
{
	enum { COUNT = sizeof standings / sizeof *standings };
	struct CMUnitTest tests[COUNT + 1];
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){standings[i].name, test_standing, NULL, NULL, (void *)(uintptr_t)&standings[i]};
	tests[COUNT] = (struct CMUnitTest){"a bound of waits and of time", test_bound, NULL, NULL, NULL};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
