/* lead_plan_test.c - waits become the plan that `why` and `queue` read. */
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
	char *text;

	(void)state;
	rows->snapshot.pending = pending;
	rows->snapshot.pending_count = 2;
	rows->keys = keys;
	rows->snapshot.running = running;
	rows->snapshot.running_count = 2;
	text = lead_plan_text(rows, &result);
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
	lead_rows_free(rows);
}

/* Whatever the text says is told by the hash; what it does not say is not. */
static void hashes(void **state)
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
	unsigned char first[SEAL_HASH_SIZE], other[SEAL_HASH_SIZE];

	(void)state;
	for (int i = 0; i < 8; i++)
		wait[i] = plain;
	wait[1].step = 2;
	wait[2].blocker_step = 2;
	wait[3].expected_at = NAN;
	wait[4].node_ids = others;
	wait[5].message = "wait";
	wait[6].reason = SCHEDULE_LICENSE;
	wait[7].expected_at = 2000.8; /* the same second */
	lead_plan_hash(&(struct schedule_result){.waits = wait, .wait_count = 1}, first);
	for (int i = 1; i < 8; i++) {
		lead_plan_hash(&(struct schedule_result){.waits = &wait[i], .wait_count = 1}, other);
		assert_int_equal(memcmp(first, other, sizeof first) == 0, i == 7);
	}
	lead_plan_hash(&(struct schedule_result){.waits = wait, .wait_count = 2}, other);
	assert_memory_not_equal(first, other, sizeof first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(entries), cmocka_unit_test(hashes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
