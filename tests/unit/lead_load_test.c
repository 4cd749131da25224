/* lead_load_test.c - rows as PostgreSQL writes them become the structs of the scheduler. */
#include "tests/unit/unit.h"

#include <math.h>

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/lead/lead_value.h"
#include "jobmgr/schedule/schedule_arena.h"

/* A result with one row: names and values (NULL: null) in turn. */
static PGresult *one_row(const char *const *pairs)
{
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc columns[64] = {0};
	int count = 0;

	for (; pairs[2 * count]; count++)
		columns[count].name = (char *)(uintptr_t)pairs[2 * count];
	assert_true(PQsetResultAttrs(result, count, columns));
	for (int i = 0; i < count; i++) {
		const char *value = pairs[2 * i + 1];

		assert_true(PQsetvalue(result, 0, i, (char *)(uintptr_t)value, value ? (int)strlen(value) : -1));
	}
	return result;
}

static struct lead_rows *load(enum lead_set set, const char *const *pairs)
{
	struct lead_rows *rows = lead_rows_new(1000);
	PGresult *result = one_row(pairs);
	struct err e = {0};

	if (!lead_load(rows, set, result, &e))
		fail_msg("%s", e.message);
	PQclear(result); /* the structs must not refer to memory of the result */
	return rows;
}

static void nodes(void **state)
{
	static const char *const row[] = {
		"node_id",
		"7",
		"name",
		"n7",
		"cpus",
		"8",
		"cpus_used",
		"3",
		"mem_mb",
		"4096",
		"mem_used_mb",
		"1024",
		"state",
		"up",
		"features",
		"{fast,\"big mem\",\"a\\\"b\"}",
		"gres",
		"{\"gpu\": [1, 3]}",
		"gres_total",
		"{\"gpu\": 4, \"fpga\": 1}",
		"weight",
		"2",
		"failing",
		"t",
		"power",
		"powering_on",
		"image",
		"el9",
		"default_image",
		NULL,
		"prep",
		"mig:2",
		"ready_at",
		"1020.5",
		NULL,
	};
	struct lead_rows *rows = load(LEAD_NODES, row);
	const struct schedule_node *n = rows->snapshot.nodes;

	(void)state;
	assert_int_equal(rows->snapshot.node_count, 1);
	assert_int_equal(n->id, 7);
	assert_string_equal(n->name, "n7");
	assert_int_equal(n->cpus_used, 3);
	assert_int_equal(n->mem_used_mb, 1024);
	assert_true(n->usable);
	assert_int_equal(n->feature_count, 3);
	assert_string_equal(n->features[0], "fast");
	assert_string_equal(n->features[1], "big mem");
	assert_string_equal(n->features[2], "a\"b");
	assert_int_equal(n->gres_count, 2);
	for (int i = 0; i < 2; i++) {
		bool gpu = strcmp(n->gres[i].name, "gpu") == 0;

		assert_int_equal(n->gres[i].total, gpu ? 4 : 1);
		assert_int_equal(n->gres[i].free_count, gpu ? 2 : 0);
		if (gpu)
			assert_int_equal(n->gres[i].free[1], 3);
	}
	assert_int_equal(n->weight, 2);
	assert_true(n->failing);
	assert_int_equal(n->power, SCHEDULE_POWER_COMING);
	assert_string_equal(n->image, "el9");
	assert_null(n->default_image);
	assert_string_equal(n->prep, "mig:2");
	assert_float_equal(n->ready_at, 1020.5, 0);
	lead_rows_free(rows);
}

static void outages(void **state)
{
	static const char *const row[] = {
		"reservation_id", "3", "node_ids", "{7,9}", "from_at", "1020.5", "to_at", NULL, "words", "the move", NULL,
	};
	struct lead_rows *rows = load(LEAD_OUTAGES, row);
	const struct schedule_outage *o = rows->snapshot.outages;

	(void)state;
	assert_int_equal(rows->snapshot.outage_count, 1);
	assert_int_equal(o->id, 3);
	assert_int_equal(o->node_count, 2);
	assert_int_equal(o->node_ids[1], 9);
	assert_true(o->from == 1020.5);
	assert_true(isinf(o->to));
	assert_string_equal(o->description, "the move");
	lead_rows_free(rows);
}

static void running(void **state)
{
	static const char *const row[] = {
		"job_id",
		"812",
		"step_id",
		"3",
		"label",
		"812.solve[7]",
		"attempt",
		"2",
		"node_id",
		"7",
		"cpus",
		"4",
		"mem_mb",
		"512",
		"gres",
		"{\"gpu\": [0, 3]}",
		"ends_at",
		NULL,
		"reserved",
		"t",
		"reserved_for",
		"5",
		"request_id",
		"4",
		"predispatched",
		"t",
		"licenses",
		"{\"matlab\": 2}",
		NULL,
	};
	struct lead_rows *rows = load(LEAD_RUNNING, row);
	const struct schedule_running *r = rows->snapshot.running;

	(void)state;
	assert_int_equal(r->request, 4);
	assert_true(r->predispatched);
	assert_int_equal(r->job, 812);
	assert_string_equal(r->label, "812.solve[7]");
	assert_int_equal(r->gres[0].device[1], 3);
	assert_true(isinf(r->ends_at));
	assert_true(r->reserved);
	assert_int_equal(r->reserved_for, 5);
	assert_int_equal(r->license_count, 1);
	assert_int_equal(r->licenses[0].count, 2);
	lead_rows_free(rows);
}

static const char *const pending_row[] = {
	"job_id",
	"812",
	"step_id",
	"0",
	"request_id",
	"0",
	"name",
	"solve",
	"array_index",
	NULL,
	"attempt",
	"1",
	"partition",
	"main",
	"nodes_min",
	"2",
	"nodes_max",
	NULL,
	"ntasks",
	"4",
	"ntasks_per_node",
	NULL,
	"cpus_per_task",
	"2",
	"mem_mb",
	NULL,
	"mem_per_cpu_mb",
	"100",
	"gres",
	"{\"gpu\": 1}",
	"licenses",
	"{}",
	"exclusive",
	"f",
	"features",
	"a&b",
	"nodelist",
	"{n1,n2}",
	"exclude",
	"{}",
	"time_limit_s",
	"3600",
	"time_min_s",
	NULL,
	"deadline_at",
	"1234567.5",
	"with_set",
	NULL,
	"with_count",
	NULL,
	"same_as_step",
	"{4,6}",
	"other_than_step",
	NULL,
	"same_nodes",
	"{3,1}",
	"other_nodes",
	NULL,
	"data_nodes",
	"{2,5}",
	"array_size",
	"10",
	"admitted",
	"{3}",
	"reservation",
	"3",
	"image",
	"el9",
	"tier",
	"-2",
	"prep",
	"mig:2",
	"steady",
	"t",
	"variables",
	"1=1:x\n",
	NULL,
};

static void pending(void **state)
{
	struct lead_rows *rows = load(LEAD_PENDING, pending_row);
	const struct schedule_pending *p = rows->snapshot.pending;

	(void)state;
	assert_int_equal(rows->snapshot.pending_count, 1);
	assert_string_equal(p->image, "el9");
	assert_int_equal(p->tier, -2);
	assert_string_equal(p->prep, "mig:2");
	assert_int_equal(p->nodes_min, 2);
	assert_int_equal(p->nodes_max, 0);
	assert_int_equal(p->mem_mb, 0);
	assert_int_equal(p->mem_per_cpu_mb, 100);
	assert_int_equal(p->gres_count, 1);
	assert_string_equal(p->constraint, "a&b");
	assert_int_equal(p->nodelist_count, 2);
	assert_string_equal(p->nodelist[1], "n2");
	assert_int_equal(p->exclude_count, 0);
	assert_true(p->deadline_at == 1234567.5);
	assert_int_equal(p->with_set, -1);
	assert_int_equal(p->with_count, 0);
	assert_int_equal(p->same_as_count, 2);
	assert_int_equal(p->same_as[1], 6);
	assert_int_equal(p->other_than_count, 0);
	assert_int_equal(p->same_nodes_count, 2);
	assert_int_equal(p->same_nodes[0], 3);
	assert_int_equal(p->data_nodes_count, 2);
	assert_int_equal(p->data_nodes[1], 5);
	assert_int_equal(p->array_size, 10);
	assert_int_equal(p->admitted_count, 1);
	assert_int_equal(p->admitted[0], 3);
	assert_int_equal(p->reservation, 3);
	assert_int_equal(rows->keys[0].attempt, 1);
	assert_int_equal(rows->keys[0].array_index, -1);
	assert_string_equal(rows->keys[0].name, "solve");
	assert_true(rows->keys[0].steady);
	assert_string_equal(rows->keys[0].variables, "1=1:x\n");
	lead_rows_free(rows);
}

/* A missing column is an error that names it: daemon and database have different versions. */
static void wrong_form(void **state)
{
	static const char *const lacking[] = {"license", "x", "total", "1", NULL};
	static const char *const garbled[] = {"license", "x", "total", "many", "used", "0", NULL};
	static const char *const *const cases[] = {lacking, garbled};
	static const char *const names[] = {"\"used\"", "\"total\""};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct lead_rows *rows = lead_rows_new(0);
		PGresult *result = one_row(cases[i]);
		struct err e = {0};

		assert_false(lead_load(rows, LEAD_LICENSES, result, &e));
		assert_non_null(strstr(e.message, names[i]));
		PQclear(result);
		lead_rows_free(rows);
	}
}

struct list {
	const void *items;
	size_t count;
};

static void malformed_values(void **state)
{
	static const struct {
		lead_reader *read;
		const char *text;
	} cases[] = {
		{lead_read_int, ""},
		{lead_read_int, "1x"},
		{lead_read_int, "2147483648"},
		{lead_read_int64, "x"},
		{lead_read_double, "1.5s"},
		{lead_read_bool, "yes"},
		{lead_read_ints, "1,2"},
		{lead_read_ints, "{1,2"},
		{lead_read_ints, "{1,}"},
		{lead_read_ints, "{1,2}x"},
		{lead_read_texts, "{a,\"b}"},
		{lead_read_texts, "a"},
		{lead_read_texts, "{a\\"},
		{lead_read_amounts, "[]"},
		{lead_read_amounts, "{\"a\":\"b\"}"},
		{lead_read_devices, "{\"a\":1}"},
		{lead_read_devices, "{\"a\":[\"x\"]}"},
		{lead_read_gres_total, "7"},
		{lead_read_gres_free, "nothing"},
	};
	struct schedule_arena *arena = schedule_arena_new();

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct list target = {0};

		assert_false(cases[i].read(arena, cases[i].text, &target));
	}
	schedule_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes),   cmocka_unit_test(running),	 cmocka_unit_test(outages),
		cmocka_unit_test(pending), cmocka_unit_test(wrong_form), cmocka_unit_test(malformed_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
