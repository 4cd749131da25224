/* schedule_preempt_test.c - running steps that are preempted for waiting ones, on clusters in text form and on random ones:
 * victims have a lower tier, may be preempted and are needed; the freed resources suffice by the rules of schedule_check.h.
 * ROTA_SEED=n runs one random case. */
#include "tests/unit/schedule_check.h"
#include "tests/unit/schedule_draw.h"

/* The result: a line for each pick, "A on n1 for a,b". */
static const struct standing {
	const char *name, *nodes, *partitions, *licenses, *running, *queue, *answer;
} standings[] = {
	{"one of a lower tier", "n1 a", NULL, NULL, "a +60 tier=0", "A tier=1", "A on n1 for a\n"},
	{"nobody of the same tier", "n1 a", NULL, NULL, "a +60 tier=1", "A tier=1", ""},
	{"nobody of a higher tier", "n1 a", NULL, NULL, "a +60 tier=2", "A tier=1", ""},
	{"nobody who is not offered", "n1 a", NULL, NULL, "a +60", "A tier=1", ""},
	{"nobody where there is room", "n1 a.", NULL, NULL, "a +60 tier=0", "A tier=1", ""},
	{"the lowest tier first", "n1 a\nn2 b", NULL, NULL, "a +60 tier=1\nb +60 tier=0 lost=900", "A tier=2", "A on n2 for b\n"},
	{"a higher one where the lowest does not do", "n1 aa\nn2 b", NULL, NULL, "a +60 tier=1\nb +60 tier=0", "A tier=2 c=2",
	 "A on n1 for a\n"},
	{"fewest", "n1 abcd\nn2 eeee", NULL, NULL,
	 "a +60 tier=0\nb +60 tier=0\nc +60 tier=0\nd +60 tier=0\ne +60 tier=0 lost=900", "A tier=1 c=4", "A on n2 for e\n"},
	{"of as few those that lose least", "n1 aabb\nn2 ccdd", NULL, NULL,
	 "a +60 tier=0 lost=9\nb +60 tier=0 lost=8\nc +60 tier=0 lost=7\nd +60 tier=0 lost=9", "A tier=1 c=2", "A on n2 for c\n"},
	{"what is free counts", "n1 aab.", NULL, NULL, "a +60 tier=0 lost=5\nb +60 tier=0 lost=1", "A tier=1 c=2",
	 "A on n1 for b\n"},
	{"no more than needed", "n1 abcc", NULL, NULL, "a +60 tier=0 lost=1\nb +60 tier=0 lost=2\nc +60 tier=0 lost=500",
	 "A tier=1 c=2", "A on n1 for c\n"},
	{"by memory", "n1 a. m=100", NULL, NULL, "a +60 m=80 tier=0", "A tier=1 m=50", "A on n1 for a\n"},
	{"by devices", "n1 ab.. g=gpu:1", NULL, NULL, "a +60 tier=0 lost=0\nb +60 g=gpu:0 tier=0 lost=99", "A tier=1 g=gpu:1",
	 "A on n1 for b\n"},
	{"by a licence", "n1 ab..", NULL, "mat 1", "a +60 tier=0 lost=0\nb +60 l=mat:1 tier=0 lost=99", "A tier=1 l=mat:1",
	 "A on n1 for b\n"},
	{"on several nodes", "n1 a\nn2 b\nn3 c", NULL, NULL, "a +60 tier=0 lost=3\nb +60 tier=0 lost=2\nc +60 tier=0 lost=1",
	 "A tier=1 n=2", "A on n2,n3 for b,c\n"},
	{"one step on several nodes", "n1 a\nn2 a\nn3 b\nn4 c", NULL, NULL,
	 "a +60 tier=0 lost=1\nb +60 tier=0 lost=1\nc +60 tier=0 lost=1", "A tier=1 n=2", "A on n1,n2 for a\n"},
	{"not where it must not be", "n1 a\nn2 b", NULL, NULL, "a +60 tier=0\nb +60 tier=0", "A tier=1 off=n1",
	 "A on n2 for b\n"},
	{"not in other partitions", "n1 a\nn2 b", "p nodes=n2\nq nodes=n1", NULL, "a +60 tier=0\nb +60", "A tier=1", ""},
	{"each for itself, in order", "n1 a\nn2 b\nn3 c", NULL, NULL,
	 "a +60 tier=0 lost=1\nb +60 tier=0 lost=2\nc +60 tier=0 lost=3", "A tier=1\nB tier=1", "A on n1 for a\nB on n2 for b\n"},
	{"not those who start now", "n1 a.", NULL, NULL, "a +60 tier=0", "A tier=1\nB tier=1", "B on n1 for a\n"},
	{"what a victim frees for others, too", "n1 aa\nn2 bb", NULL, NULL, "a +60 tier=0 lost=1\nb +60 tier=0 lost=2",
	 "A tier=1\nB tier=1", "A on n1 for a\n"},
	{"elements of an array", "n1 a\nn2 b\nn3 c", NULL, NULL, "a +60 tier=0 lost=1\nb +60 tier=0 lost=2\nc +60 tier=0 lost=3",
	 "A tier=1 array=10/2/0", "A on n1 for a\nA on n2 for b\n"},
	{"suspended, for its CPUs", "n1 a m=100", NULL, NULL, "a +60 m=40 tier=0 suspends=cpus", "A tier=1 m=50",
	 "A on n1 for a\n"},
	{"but it keeps its memory", "n1 a m=100", NULL, NULL, "a +60 m=60 tier=0 suspends=cpus", "A tier=1 m=50", ""},
	{"its devices", "n1 a. g=gpu:1", NULL, NULL, "a +60 g=gpu:0 tier=0 suspends=cpus", "A tier=1 g=gpu:1", ""},
	{"unless these are GPUs that it gives back", "n1 a. g=gpu:1", NULL, NULL, "a +60 g=gpu:0 tier=0 suspends=gpus",
	 "A tier=1 g=gpu:1", "A on n1 for a\n"},
	{"only GPUs", "n1 a. g=fpga:1", NULL, NULL, "a +60 g=fpga:0 tier=0 suspends=gpus", "A tier=1 g=fpga:1", ""},
	{"and its licences", "n1 a.", NULL, "mat 1", "a +60 l=mat:1 tier=0 suspends=cpus", "A tier=1 l=mat:1", ""},
	{"unless it gives them", "n1 a.", NULL, "mat 1", "a +60 l=mat:1 tier=0 suspends=all", "A tier=1 l=mat:1",
	 "A on n1 for a\n"},
	{"who ends makes more room", "n1 ab m=100", NULL, NULL, "a +60 m=60 tier=0 suspends=cpus\nb +60 m=40 tier=0 lost=99",
	 "A tier=1 m=40", "A on n1 for b\n"},
	{"a gang, whole", "n1 a\nn2 b", NULL, NULL, "a +60 tier=0\nb +60 tier=0", "A tier=1 with=0/2\nB tier=1 with=0/2",
	 "A,B on n1,n2 for a,b\n"},
	{"no half of a gang", "n1 a\nn2 b", NULL, NULL, "a +60 tier=0\nb +60", "A tier=1 with=0/2\nB tier=1 with=0/2", ""},
	{"not for those behind, at the cost of who is ahead", "n1 aa\nn2 bb", NULL, NULL, "a +60\nb +60 tier=0",
	 "A tier=1 n=2 c=2 t=100\nB tier=1 c=1 t=100", ""},
	{"unless they end before", "n1 aa\nn2 bb", NULL, NULL, "a +60\nb +60 tier=0", "A tier=1 n=2 c=2 t=100\nB tier=1 c=1 t=50",
	 "B on n2 for b\n"},
};

static void picks_draw(struct draw *d, const struct schedule_picks *picks)
{
	for (size_t i = 0; i < picks->count; i++) {
		const struct schedule_pick *pick = &picks->list[i];
		const char *between = "";
		char first = 'z';
		for (size_t k = 0; k < pick->start_count; k++)
			draw_say(d, "%s%c", k ? "," : "", 'A' + pick->starts[k].step);
		draw_say(d, " on ");
		for (size_t k = 0; k < pick->start_count; k++)
			for (size_t n = 0; n < pick->starts[k].share_count; n++, between = ",")
				draw_say(d, "%sn%d", between, pick->starts[k].shares[n].node_id - 9);
		draw_say(d, " for ");
		for (char letter = 'a'; letter <= 'z'; letter++)
			for (size_t k = 0; k < pick->victim_count; k++)
				if (pick->victims[k]->job - 100 + 'a' == letter) {
					draw_say(d, "%s%c", first == 'z' ? "" : ",", letter);
					first = letter;
				}
		draw_say(d, "\n");
	}
}

static void test_standing(void **state)
{
	const struct standing *s = *state;
	struct draw *d = draw_new(s->nodes, s->partitions, s->licenses, s->running, s->queue);
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	struct schedule_picks picks = schedule_preempt(d->arena, &d->snapshot, &schedule_policy_default, result, d->candidate,
						       d->candidate_count, NULL, 0);
	picks_draw(d, &picks);
	assert_string_equal(d->text, s->answer);
	schedule_result_free(result);
	draw_free(d);
}

/* Free resources under a claim are reserved for the step that has the claim, and that step picks no other victim. */
static void test_claim(void **state)
{
	(void)state;
	struct draw *d = draw_new("n1 a..b", NULL, NULL, "a +60 tier=0\nb +60 tier=0", "A tier=1 c=3\nB tier=1 c=2");
	const struct schedule_claim claim = {.job = 1, .step = 0, .node_id = 10, .cpus = 3};
	struct schedule_change *kept = schedule_change_new(d->arena, &d->snapshot, 1);
	schedule_change_keep(kept, &claim);
	assert_int_equal(kept->nodes[0].cpus_used, 4);
	struct schedule_result *result = schedule_run(&kept->snapshot, &schedule_policy_default);
	assert_int_equal(result->start_count, 0);
	struct schedule_picks picks = schedule_preempt(d->arena, &kept->snapshot, &schedule_policy_default, result, d->candidate,
						       d->candidate_count, &claim, 1);
	assert_int_equal(picks.count, 1);
	assert_int_equal(picks.list[0].starts[0].step, 1);
	assert_int_equal(picks.list[0].victim_count, 2);
	schedule_result_free(result);

	/* The victim of the claim has ended: the step with the claim starts, and no other. */
	schedule_change_end(kept, 0);
	kept = schedule_change_new(d->arena, &d->snapshot, 1);
	schedule_change_end(kept, 0);
	schedule_change_keep(kept, &claim);
	result = schedule_run(&kept->snapshot, &schedule_policy_default);
	assert_int_equal(result->start_count, 1);
	assert_int_equal(result->starts[0].step, 0);
	schedule_result_free(result);
	draw_free(d);
}

/* A step of 95 s that saves itself, against a stream of high steps, the next of which comes whenever it runs. Returns how long
 * the step has run (none of it is lost), and sets `attempts`. Checks that each attempt runs for its minimal run time and not
 * longer. */
static int hostile_stream(int after, int *attempts)
{
	int saved = 0, ran = 0;
	bool runs = false;
	*attempts = 0;
	for (int round = 0; saved + ran < 95 && round < 1000; round++) {
		char running[64];
		snprintf(running, sizeof running, "a +60 tier=0 from=%.0f", DRAW_NOW + (double)(after - ran));
		struct draw *d =
			draw_new(runs ? "n1 a" : "n1 .", NULL, NULL, runs ? running : NULL, runs ? "A tier=1 t=1" : "A t=60");
		struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
		struct schedule_picks picks = schedule_preempt(d->arena, &d->snapshot, &schedule_policy_default, result,
							       d->candidate, d->candidate_count, NULL, 0);
		assert_int_equal(picks.count, runs && ran >= after);
		assert_int_equal(result->start_count, !runs);
		*attempts += !runs;
		if (picks.count) /* a high step follows, and is over before the next round */
			saved += ran;
		ran = picks.count || !runs ? 0 : ran + 1;
		runs = !picks.count;
		schedule_result_free(result);
		draw_free(d);
	}
	return saved + ran;
}

static void test_hostile(void **state)
{
	(void)state;
	int attempts;
	assert_int_equal(hostile_stream(10, &attempts), 95);
	assert_int_equal(attempts, 10);
	assert_int_equal(hostile_stream(1, &attempts), 95);
	assert_int_equal(attempts, 95);
	/* Without a minimal run time the step makes no progress. */
	assert_int_equal(hostile_stream(0, &attempts), 0);
}

/* Random clusters. */

enum { CASES = 400 };

static size_t random_candidates(struct world *w, struct schedule_candidate *candidates)
{
	size_t count = 0;
	for (size_t i = 0; i < w->snapshot.running_count; i++) {
		if (w->running[i].reserved || world_one_in(w, 4))
			continue;
		candidates[count++] = (struct schedule_candidate){
			.job = w->running[i].job, .attempt = 1, .tier = world_roll(w, 3), .lost_s = world_roll(w, 100)};
	}
	for (size_t i = 0; i < w->snapshot.pending_count; i++)
		w->pending[i].tier = world_roll(w, 4);
	return count;
}

static bool is_victim(const struct schedule_pick *pick, size_t without, const struct schedule_running *row)
{
	for (size_t i = 0; i < pick->victim_count; i++)
		if (i != without && !row->reserved && pick->victims[i]->job == row->job)
			return true;
	return false;
}

/* Can the picked step start, given the starts of the cycle, once the victims of its pick have ended? */
static bool pick_starts(struct world *w, const struct schedule_result *result, const struct schedule_pick *pick, size_t without)
{
	struct schedule_arena *arena = schedule_arena_new();
	struct schedule_change *change = schedule_change_new(arena, &w->snapshot, 512);
	struct schedule_pending pending[WORLD_STEPS];
	size_t count = 0;
	for (size_t i = 0; i < w->snapshot.running_count; i++)
		if (is_victim(pick, without, &w->running[i]))
			schedule_change_end(change, i);
	for (size_t i = 0; i < result->start_count; i++)
		for (size_t k = 0; k < result->starts[i].share_count; k++) {
			const struct schedule_start *start = &result->starts[i];
			const struct schedule_running row = {.job = 5000,
							     .node_id = start->shares[k].node_id,
							     .cpus = start->shares[k].cpus,
							     .mem_mb = start->shares[k].mem_mb,
							     .ends_at = INFINITY,
							     .licenses = w->pending[start->pending].licenses,
							     .license_count = k ? 0 : w->pending[start->pending].license_count};
			const struct schedule_amount gpu = {
				"gpu", start->shares[k].gres_count ? (int64_t)start->shares[k].gres[0].count : 0};
			schedule_change_add(change, &row, &gpu, gpu.count > 0);
		}
	for (size_t i = 0; i < pick->start_count; i++)
		pending[count++] = w->pending[pick->starts[i].pending];
	for (size_t i = 0; i < count; i++)
		if (pending[i].array_size > 0)
			pending[i].array_free_slots = 1;
	change->snapshot.pending = pending;
	change->snapshot.pending_count = count;
	struct schedule_result *again = schedule_run(&change->snapshot, &schedule_policy_default);
	bool starts = again->start_count >= count;
	schedule_result_free(again);
	schedule_arena_free(arena);
	return starts;
}

static void check_pick(struct world *w, const struct schedule_pick *pick, bool *taken)
{
	assert_true(pick->victim_count > 0);
	for (size_t i = 0; i < pick->victim_count; i++) {
		assert_false(taken[pick->victims[i]->job]);
		taken[pick->victims[i]->job] = true;
		for (size_t k = 0; k < pick->start_count; k++)
			assert_true(pick->victims[i]->tier < w->pending[pick->starts[k].pending].tier);
	}
}

static void test_random(void **state)
{
	(void)state;
	const char *one = getenv("ROTA_SEED");
	uint64_t seed = one ? strtoull(one, NULL, 10) : 1, last = one ? seed : CASES;
	size_t picked = 0;
	for (; seed <= last; seed++) {
		struct world *w = world_new(seed);
		struct schedule_candidate candidates[WORLD_RUNNING];
		bool taken[2000] = {0};
		size_t count = random_candidates(w, candidates);
		struct schedule_result *result = schedule_run(&w->snapshot, &schedule_policy_default);
		struct schedule_arena *arena = schedule_arena_new();
		struct schedule_picks picks =
			schedule_preempt(arena, &w->snapshot, &schedule_policy_default, result, candidates, count, NULL, 0);
		for (size_t i = 0; i < picks.count; i++)
			check_pick(w, &picks.list[i], taken);
		/* The first pick alone: its victims make enough room, and with one victim less they would not. */
		if (picks.count) {
			bool reserved = false;
			for (size_t i = 0; i < w->snapshot.running_count; i++)
				reserved |= w->running[i].reserved;
			assert_true(pick_starts(w, result, &picks.list[0], SIZE_MAX) || reserved);
		}
		picked += picks.count;
		schedule_arena_free(arena);
		schedule_result_free(result);
		world_free(w);
	}
	assert_true(one || picked > CASES / 10);
}

/* Steps of one CPU on full nodes: trying all sets of victims finds the fewest. */
static void test_fewest(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct world *w = calloc(1, sizeof *w);
		w->random = seed * 0x9e3779b97f4a7c15u + 1;
		char nodes[128] = "", running[512] = "", queue[64];
		int best = 99, need = 1 + world_roll(w, 6);
		char letter = 'a';
		for (int n = 0; n < 3; n++) {
			int held[4], holders = 1 + world_roll(w, 4), cpus = 0;
			snprintf(nodes + strlen(nodes), sizeof nodes - strlen(nodes), "%sn%d ", n ? "\n" : "", n + 1);
			for (int h = 0; h < holders; h++, letter++) {
				held[h] = 1 + world_roll(w, 3);
				cpus += held[h];
				for (int c = 0; c < held[h]; c++)
					snprintf(nodes + strlen(nodes), sizeof nodes - strlen(nodes), "%c", letter);
				snprintf(running + strlen(running), sizeof running - strlen(running), "%s%c +60 tier=0 lost=%d",
					 *running ? "\n" : "", letter, world_roll(w, 50));
			}
			for (int set = 1; set < 1 << holders; set++) {
				int free = 0, size = 0;
				for (int h = 0; h < holders; h++)
					if (set & 1 << h)
						free += held[h], size++;
				if (free >= need && size < best)
					best = size;
			}
		}
		snprintf(queue, sizeof queue, "A tier=1 c=%d", need);
		struct draw *d = draw_new(nodes, NULL, NULL, running, queue);
		struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
		struct schedule_picks picks = schedule_preempt(d->arena, &d->snapshot, &schedule_policy_default, result,
							       d->candidate, d->candidate_count, NULL, 0);
		assert_int_equal(picks.count, best < 99);
		if (picks.count)
			assert_int_equal(picks.list[0].victim_count, best);
		schedule_result_free(result);
		draw_free(d);
		free(w);
	}
}

/* A large cluster where no step may be preempted and many steps could preempt: the number of attempts is bounded. */
static void test_bounded(void **state)
{
	(void)state;
	enum { NODES = 2000, WAITING = 500 };
	struct schedule_node *nodes = calloc(NODES, sizeof *nodes);
	struct schedule_running *running = calloc(NODES, sizeof *running);
	struct schedule_candidate *candidates = calloc(NODES, sizeof *candidates);
	struct schedule_pending *pending = calloc(WAITING, sizeof *pending);
	int *ids = calloc(NODES, sizeof *ids);
	struct schedule_arena *arena = schedule_arena_new();
	for (int i = 0; i < NODES; i++) {
		nodes[i] = (struct schedule_node){
			.id = i + 1, .name = schedule_arena_print(arena, "n%d", i), .cpus = 4, .cpus_used = 4, .usable = true};
		running[i] =
			(struct schedule_running){.job = i + 1, .node_id = i + 1, .attempt = 1, .cpus = 4, .ends_at = INFINITY};
		candidates[i] = (struct schedule_candidate){.job = i + 1, .attempt = 1, .lost_s = i};
		ids[i] = i + 1;
	}
	for (int i = 0; i < WAITING; i++)
		pending[i] = (struct schedule_pending){
			.job = 10000 + i, .name = "s", .partition = "p", .tier = 1, .cpus_per_task = 1, .array_free_slots = -1};
	const struct schedule_partition partition = {.name = "p", .node_ids = ids, .node_count = NODES};
	const struct schedule_snapshot s = {.now = 1e9,
					    .nodes = nodes,
					    .node_count = NODES,
					    .partitions = &partition,
					    .partition_count = 1,
					    .running = running,
					    .running_count = NODES,
					    .pending = pending,
					    .pending_count = WAITING};
	struct schedule_result *result = schedule_run(&s, &schedule_policy_default);
	struct schedule_picks picks = schedule_preempt(arena, &s, &schedule_policy_default, result, candidates, NODES, NULL, 0);
	assert_in_range(picks.count, 10, WAITING);
	assert_in_range(picks.runs, picks.count, 110);
	assert_true(picks.has_more);
	for (size_t i = 0; i < picks.count; i++)
		assert_int_equal(picks.list[i].victim_count, 1);
	schedule_result_free(result);
	schedule_arena_free(arena);
	free(nodes);
	free(running);
	free(candidates);
	free(pending);
	free(ids);
}

int main(void)
{
	enum { COUNT = sizeof standings / sizeof *standings, OTHERS = 5 };
	struct CMUnitTest tests[COUNT + OTHERS];
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){standings[i].name, test_standing, NULL, NULL, (void *)&standings[i]};
	tests[COUNT] = (struct CMUnitTest){"claims", test_claim, NULL, NULL, NULL};
	tests[COUNT + 1] = (struct CMUnitTest){"random clusters", test_random, NULL, NULL, NULL};
	tests[COUNT + 2] = (struct CMUnitTest){"the fewest", test_fewest, NULL, NULL, NULL};
	tests[COUNT + 3] = (struct CMUnitTest){"a large cluster", test_bounded, NULL, NULL, NULL};
	tests[COUNT + 4] = (struct CMUnitTest){"a hostile stream", test_hostile, NULL, NULL, NULL};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
