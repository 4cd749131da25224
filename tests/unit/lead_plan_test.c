/* lead_plan_test.c - the waits of a scheduling result become the plan that `why` and `queue` read. */
#include "tests/unit/unit.h"

#include <jansson.h>
#include <math.h>

#include "jobmgr/lead/lead_plan.h"

static void entries(void **state)
{
	static const int nodes[] = {2, 1};
	struct schedule_pending pending[] = {{.job = 812, .step = 0, .name = "solve"}, {.job = 813, .step = 4, .name = "draw"}};
	struct lead_key keys[] = {{.array_index = -1, .name = "solve"}, {.array_index = 9, .name = "draw"}};
	struct schedule_running running[] = {{.job = 700, .step = 1, .label = "700.mesh"}, {.job = 701, .step = 1}};
	struct schedule_wait waits[] = {
		{.job = 812,
		 .step = 0,
		 .reason = SCHEDULE_RESOURCES,
		 .blocker_job = 700,
		 .blocker_step = 1,
		 .expected_at = 2000.4,
		 .node_ids = nodes,
		 .node_count = 2,
		 .message = "waits"},
		{.job = 813,
		 .step = 4,
		 .reason = SCHEDULE_PRIORITY,
		 .blocker_job = 813,
		 .blocker_step = 4,
		 .expected_at = NAN,
		 .message = "waits"},
		{.job = 814,
		 .step = 0,
		 .reason = SCHEDULE_LICENSE,
		 .blocker_job = 0,
		 .blocker_step = -1,
		 .expected_at = 3000,
		 .message = "waits"},
		{.job = 815,
		 .step = 0,
		 .reason = SCHEDULE_NODE,
		 .blocker_job = 701,
		 .blocker_step = 1,
		 .expected_at = NAN,
		 .message = "waits"},
	};
	struct schedule_result result = {.waits = waits, .wait_count = 4};
	struct lead_rows *rows = lead_rows_new(0);
	struct lead_plan *plan = lead_plan_new();
	struct lead_plan_changes *changes = lead_plan_compare(plan, &result);
	char *text;

	(void)state;
	assert_true(changes->whole);
	rows->snapshot.pending = pending;
	rows->snapshot.pending_count = 2;
	rows->keys = keys;
	rows->snapshot.running = running;
	rows->snapshot.running_count = 2;
	text = lead_plan_changes_json(changes, rows);
	assert_string_equal(
		text,
		"[{\"job\":812,\"step\":0,\"expected_at\":2001,\"nodes\":[2,1],\"blocker\":\"700.mesh\",\"reason\":\"resources\","
		"\"message\":\"waits\"},"
		"{\"job\":813,\"step\":4,\"expected_at\":null,\"nodes\":[],\"blocker\":\"813.draw[9]\",\"reason\":\"priority\","
		"\"message\":\"waits\"},"
		"{\"job\":814,\"step\":0,\"expected_at\":3000,\"nodes\":[],\"blocker\":null,\"reason\":\"license\","
		"\"message\":\"waits\"},"
		"{\"job\":815,\"step\":0,\"expected_at\":null,\"nodes\":[],\"blocker\":null,\"reason\":\"node\","
		"\"message\":\"waits\"}]");
	free(text);
	lead_plan_changes_free(changes);
	lead_plan_free(plan);
	lead_rows_free(rows);
}

/* Compare `waits` with the written plan. The text has "job.step" for each wait to be written and "-job.step" for each to be
 * deleted. */
static void expect_changes(const struct lead_plan *plan, const struct schedule_wait *waits, size_t count, const char *expected)
{
	struct lead_plan_changes *changes =
		lead_plan_compare(plan, &(struct schedule_result){.waits = waits, .wait_count = count});
	char text[256] = "", one[32];

	for (size_t i = 0; i < changes->wait_count; i++) {
		snprintf(one, sizeof one, "%lld.%d ", (long long)changes->waits[i]->job, changes->waits[i]->step);
		strcat(text, one);
	}
	if (changes->gone_count > 0)
		strcat(strcat(strcat(text, "-"), db_array_literal(changes->gone_jobs)), db_array_literal(changes->gone_steps));
	assert_string_equal(text, expected);
	assert_int_equal(lead_plan_changes_any(changes), changes->whole || *expected);
	lead_plan_changes_free(changes);
}

/* Two waits are equal if their written members are. */
static void changes(void **state)
{
	static const int nodes[] = {2, 1}, others[] = {2, 3};
	const struct schedule_wait plain = {.job = 812,
					    .step = 1,
					    .blocker_job = 700,
					    .blocker_step = 1,
					    .expected_at = 2000.4,
					    .node_ids = nodes,
					    .node_count = 2,
					    .message = "waits"};
	struct schedule_wait wait[8];
	struct lead_plan *plan = lead_plan_new();

	(void)state;
	for (int i = 0; i < 8; i++)
		wait[i] = plain;
	wait[1].blocker_job = 701;
	wait[2].blocker_step = 2;
	wait[3].expected_at = NAN;
	wait[4].node_ids = others;
	wait[5].message = "wait";
	wait[6].reason = SCHEDULE_LICENSE;
	wait[7].expected_at = 2000.8; /* the same whole second as before */
	lead_plan_note_written(plan, &(struct schedule_result){.waits = wait, .wait_count = 1});
	for (int i = 0; i < 8; i++)
		expect_changes(plan, &wait[i], 1, i == 0 || i == 7 ? "" : "812.1 ");
	lead_plan_free(plan);
}

/* Only changes of a plan are written; the whole plan if the written one is unknown. */
static void goes_on(void **state)
{
	struct schedule_wait wait[4] = {
		{.job = 9, .step = 1, .blocker_step = -1, .message = "waits"},
		{.job = 7, .step = 3, .blocker_step = -1, .message = "waits"},
		{.job = 7, .step = 2, .blocker_step = -1, .message = "waits"},
		{.job = 8, .step = 0, .blocker_step = -1, .message = "waits"},
	};
	struct lead_plan *plan = lead_plan_new();
	struct lead_plan_changes *changes = lead_plan_compare(plan, &(struct schedule_result){0});

	(void)state;
	assert_true(changes->whole && lead_plan_changes_any(changes));
	lead_plan_changes_free(changes);
	lead_plan_note_written(plan, &(struct schedule_result){.waits = wait, .wait_count = 3});
	expect_changes(plan, wait, 3, "");
	expect_changes(plan, wait, 4, "8.0 ");
	expect_changes(plan, wait + 1, 3, "8.0 -{9}{1}");
	expect_changes(plan, NULL, 0, "-{7,7,9}{2,3,1}");
	/* The start of a step deletes its wait; a later wait of the step is new. */
	lead_plan_note_start(plan, 7, 3);
	lead_plan_note_start(plan, 6, 3);
	expect_changes(plan, wait, 1, "-{7}{2}");
	expect_changes(plan, wait, 3, "7.3 ");
	lead_plan_drop(plan);
	expect_changes(plan, wait, 2, "9.1 7.3 ");
	lead_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(entries), cmocka_unit_test(changes), cmocka_unit_test(goes_on)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
