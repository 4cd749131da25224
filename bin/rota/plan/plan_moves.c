/* plan_moves.c - reads which steps can be moved, lets the scheduler propose moves, and prints these.
 *
 * Called by: `rota plan --moves`.
 * Invariants:
 * - The proposed moves are only printed. `rota migrate` moves a step. */
#include "bin/rota/plan/plan_moves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/schedule/schedule_change.h"
#include "jobmgr/schedule/schedule_moves.h"
#include "lib/text.h"

/* Data for printing moves. */
struct moves_view {
	const struct schedule_snapshot *snapshot;
	json_t *list; /* moves for --json */
	bool json;
};

/* Returns the idle seconds after which a node is powered off. JSON has no infinite numbers: the text "Infinity" means never. */
static double off_after(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : INFINITY;
}

/* Read the running steps that can be moved: the request with which each would start again, and the cost of its move. The rows of
 * both lists are in the same order. */
static struct schedule_mover *movers_read(struct plan_snapshot *snapshot, const json_t *answer, size_t *count, struct err *e)
{
	const json_t *costs = json_object_get(answer, "movers");

	*count = json_array_size(costs);
	struct schedule_mover *movers = schedule_arena_take(snapshot->rows->arena, *count, sizeof *movers);
	const struct schedule_pending *requests = plan_snapshot_requests(snapshot, json_object_get(answer, "moving"), *count, e);

	if (!requests)
		return NULL;
	for (size_t i = 0; i < *count; i++) {
		movers[i].request = requests[i];
		movers[i].cost_s = json_number_value(json_object_get(json_array_get(costs, i), "cost_s"));
		movers[i].off_after_s = off_after(json_object_get(json_array_get(costs, i), "off_after_s"));
	}
	return movers;
}

static const char *node_name(const struct schedule_snapshot *s, int id)
{
	const struct schedule_node *node = schedule_snapshot_node(s, id);

	return node ? node->name : "?";
}

/* Write the name of a step of a move: "812.solve", or the label in its row of running steps. */
static void label_write(const struct schedule_snapshot *s, const struct schedule_pending *step, char *text, size_t size)
{
	snprintf(text, size, "%lld.%s", (long long)step->job, step->name);
	for (size_t i = 0; i < s->running_count; i++)
		if (s->running[i].job == step->job && s->running[i].step == step->step && s->running[i].label)
			snprintf(text, size, "%s", s->running[i].label);
}

static json_t *steps_json(const struct moves_view *v, const struct schedule_move *move, struct table *table)
{
	json_t *steps = json_array();
	char label[512], cpus[32], takes[32];

	for (size_t i = 0; i < move->count; i++) {
		const struct schedule_moved *one = &move->list[i];
		const char *from = node_name(v->snapshot, one->from_id), *to = node_name(v->snapshot, one->to_id);

		label_write(v->snapshot, &one->mover->request, label, sizeof label);
		snprintf(cpus, sizeof cpus, "%d", one->cpus);
		snprintf(takes, sizeof takes, "%.2f s", one->mover->cost_s);
		table_cell(table, label);
		table_cell(table, from);
		table_cell(table, to);
		table_cell(table, cpus);
		table_cell(table, takes);
		json_array_append_new(steps, json_pack("{s:s, s:s, s:s, s:i, s:f}", "label", label, "from", from, "to", to,
						       "cpus", one->cpus, "takes_s", one->mover->cost_s));
	}
	return steps;
}

/* Print one move: its purpose, its gain and cost, and a table of its steps. */
static void move_print(struct moves_view *v, const struct schedule_move *move)
{
	static const struct table_column columns[] = {
		{"STEP", false, 8}, {"FROM", false, 0}, {"TO", false, 0}, {"CPUS", true, 0}, {"TAKES", true, 0}};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	json_t *steps = steps_json(v, move, table);
	bool is_room = move->kind == SCHEDULE_MOVE_ROOM;
	char label[512];

	if (is_room)
		label_write(v->snapshot, &v->snapshot->pending[move->pending], label, sizeof label);
	else
		snprintf(label, sizeof label, "%s", node_name(v->snapshot, move->node_id));
	json_array_append_new(v->list, json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:O}", "kind", is_room ? "room" : "empty", "for",
						 label, "cpus", move->cpus, "sooner_s", move->gain_s, "gain_cpu_s", move->gain,
						 "cost_cpu_s", move->cost, "steps", steps));
	if (!v->json) {
		printf("%s%s %s %s: %d CPU%s * %.0f s = %.0f CPU s gained, %.1f CPU s lost\n",
		       json_array_size(v->list) > 1 ? "\n" : "", label, is_room ? "starts now instead of in" : "is off for",
		       format_duration(move->gain_s).s, move->cpus, text_plural(move->cpus), move->gain_s, move->gain,
		       move->cost);
		table_print(table, stdout, false);
	}
	json_decref(steps);
	table_free(table);
}

int plan_moves_print(struct plan_snapshot *snapshot, const json_t *answer, const struct schedule_policy *policy, bool json)
{
	struct schedule_snapshot *s = &snapshot->rows->snapshot;
	struct moves_view view = {s, json_array(), json};
	struct err e = {0};
	size_t count;
	const struct schedule_mover *movers = movers_read(snapshot, answer, &count, &e);

	if (!movers) {
		json_decref(view.list);
		return call_refuse(&e);
	}
	struct schedule_result *result = schedule_run(s, policy);
	struct schedule_moves moves = schedule_moves(snapshot->rows->arena, s, policy, result, movers, count,
						     (struct schedule_moves_bound){.waits = SCHEDULE_MOVES_WAITS_MOST});

	for (size_t i = 0; i < moves.count; i++)
		move_print(&view, &moves.list[i]);
	if (json) {
		json_t *object = json_pack("{s:O, s:I}", "moves", view.list, "movers", (json_int_t)count);

		json_dumpf(object, stdout, JSON_INDENT(2));
		puts("");
		json_decref(object);
	} else if (moves.count == 0) {
		printf("no move gains more than it costs; %zu running step%s can be moved\n", count, text_plural((int64_t)count));
	}
	schedule_result_free(result);
	json_decref(view.list);
	return EXIT_OK;
}
