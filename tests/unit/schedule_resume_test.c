/* schedule_resume_test.c - suspended steps that are resumed: after waiting steps of higher tiers, before all other steps. */
#include "jobmgr/schedule/schedule_resume.h"
#include "tests/unit/schedule_draw.h"

/* Suspended steps: x of tier 1 and y of tier 0. The resources that each needs: "CPUS on NODE", several joined by ",". The result:
 * the resumed steps, and the scheduler's result after that. */
static const struct standing {
	const char *name, *nodes, *running, *queue;
	struct schedule_claim rows[4];
	const char *answer;
} standings[] = {
	{"there is room", "n1 a.", "a +60", NULL, {{.job = 900, .node_id = 10, .cpus = 1}}, "900"},
	{"there is none", "n1 aa", "a +60", NULL, {{.job = 900, .node_id = 10, .cpus = 1}}, ""},
	{"on all its nodes",
	 "n1 a.\nn2 bb",
	 "a +60\nb +60",
	 NULL,
	 {{.job = 900, .node_id = 10, .cpus = 1}, {.job = 900, .node_id = 11, .cpus = 1}},
	 ""},
	{"ahead of its own tier", "n1 a.", "a +60", "A", {{.job = 900, .node_id = 10, .cpus = 1}}, "900"},
	{"behind a higher one", "n1 a.", "a +60", "A tier=1", {{.job = 900, .node_id = 10, .cpus = 1}}, "A"},
	{"beside a higher one", "n1 a..", "a +60", "A tier=1", {{.job = 900, .node_id = 10, .cpus = 1}}, "900A"},
	{"what is free is kept for it", "n1 a.", "a +60", "A", {{.job = 900, .node_id = 10, .cpus = 2}}, ""},
	{"but not of what a higher one takes",
	 "n1 a.\nn2 b.",
	 "a +60\nb +60",
	 "A tier=1\nB",
	 {{.job = 900, .node_id = 10, .cpus = 2}},
	 "AB"},
	{"higher tiers first",
	 "n1 a.",
	 "a +60",
	 NULL,
	 {{.job = 900, .node_id = 10, .cpus = 1, .tier = 1}, {.job = 901, .node_id = 10, .cpus = 1}},
	 "900"},
	{"one after the other",
	 "n1 a..",
	 "a +60",
	 NULL,
	 {{.job = 900, .node_id = 10, .cpus = 1, .tier = 1}, {.job = 901, .node_id = 10, .cpus = 1}},
	 "900901"},
	{"not on a node that is gone", "n1 a.", "a +60", NULL, {{.job = 900, .node_id = 99, .cpus = 1}}, ""},
};

static void test_standing(void **state)
{
	const struct standing *s = *state;
	struct draw *d = draw_new(s->nodes, NULL, NULL, s->running, s->queue);
	size_t count = 0;
	char text[64] = "";
	while (count < 4 && s->rows[count].job)
		count++;
	const bool *chosen = schedule_resume(d->arena, &d->snapshot, &schedule_policy_default, s->rows, count);
	for (size_t i = 0; i < count; i++)
		if (chosen[i] && (i == 0 || s->rows[i].job != s->rows[i - 1].job))
			snprintf(text + strlen(text), sizeof text - strlen(text), "%lld", (long long)s->rows[i].job);
	struct schedule_result *result = schedule_run(&d->snapshot, &schedule_policy_default);
	for (size_t i = 0; i < result->start_count; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%c", 'A' + result->starts[i].step);
	assert_string_equal(text, s->answer);
	schedule_result_free(result);
	draw_free(d);
}

/* A step that gave back a licence needs it again, too. */
static void test_license(void **state)
{
	(void)state;
	struct draw *d = draw_new("n1 a..", NULL, "mat 1", "a +60 l=mat:1", NULL);
	const struct schedule_amount mat = {"mat", 1};
	const struct schedule_claim row = {.job = 900, .node_id = 10, .cpus = 1, .licenses = &mat, .license_count = 1};
	assert_false(schedule_resume(d->arena, &d->snapshot, &schedule_policy_default, &row, 1)[0]);
	draw_free(d);
	d = draw_new("n1 a..", NULL, "mat 2", "a +60 l=mat:1", NULL);
	assert_true(schedule_resume(d->arena, &d->snapshot, &schedule_policy_default, &row, 1)[0]);
	assert_int_equal(d->snapshot.licenses[0].used, 2);
	draw_free(d);
}

/* A step that gave back a GPU needs the same one again. Meanwhile, it is kept from steps of its tier. */
static void test_gpus(void **state)
{
	(void)state;
	static const int one[] = {1};
	const struct schedule_devices gpu = {"gpu", one, 1};
	const struct schedule_claim row = {.job = 900, .node_id = 10, .cpus = 1, .devices = &gpu, .device_count = 1};
	const struct schedule_claim wide = {.job = 900, .node_id = 10, .cpus = 4, .devices = &gpu, .device_count = 1};
	struct draw *d = draw_new("n1 a... g=gpu:2", NULL, NULL, "a +60 g=gpu:1", NULL);
	assert_false(schedule_resume(d->arena, &d->snapshot, &schedule_policy_default, &row, 1)[0]);
	assert_int_equal(d->snapshot.nodes[0].gres[0].free_count, 1);
	draw_free(d);
	d = draw_new("n1 a... g=gpu:2", NULL, NULL, "a +60 g=gpu:0", NULL);
	assert_true(schedule_resume(d->arena, &d->snapshot, &schedule_policy_default, &row, 1)[0]);
	assert_int_equal(d->snapshot.nodes[0].gres[0].free_count, 0);
	draw_free(d);
	d = draw_new("n1 a... g=gpu:2", NULL, NULL, "a +60", NULL);
	assert_false(schedule_resume(d->arena, &d->snapshot, &schedule_policy_default, &wide, 1)[0]);
	assert_int_equal(d->snapshot.nodes[0].gres[0].free_count, 1);
	assert_int_equal(d->snapshot.nodes[0].gres[0].free[0], 0);
	draw_free(d);
}

int main(void)
{
	enum { COUNT = sizeof standings / sizeof *standings };
	struct CMUnitTest tests[COUNT + 2] = {cmocka_unit_test(test_license), cmocka_unit_test(test_gpus)};
	for (size_t i = 0; i < COUNT; i++)
		tests[i + 2] =
			(struct CMUnitTest){standings[i].name, test_standing, NULL, NULL, (void *)(uintptr_t)&standings[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
