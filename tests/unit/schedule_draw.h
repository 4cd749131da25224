/* schedule_draw.h - prints the result of the scheduler for a cluster given as text (schedule_drawn.h).
 *
 * The result is the text of the cluster with its new starts (A+2: two elements of A are pre-dispatched), and a line for each step
 * that waits or has another time limit: n1 aaAA A=gpu:1 A+2 A t=120 B resources a +300 on n1 and lines for nodes to be powered
 * on, and for nodes to be given another setup: wake n1,n2 boot n1 el9 clear n1 */
#ifndef ROTA_TESTS_SCHEDULE_DRAW_H
#define ROTA_TESTS_SCHEDULE_DRAW_H

#include "tests/unit/schedule_drawn.h"

static inline void draw_say(struct draw *d, const char *format, ...)
{
	size_t length = strlen(d->text);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(d->text + length, sizeof d->text - length, format, arguments);
	va_end(arguments);
}

static inline void draw_setup(struct draw *d, const struct schedule_node *node, const struct schedule_setup *setup)
{
	if (setup->image && strcmp(setup->image, node->image))
		draw_say(d, "boot %s %s\n", node->name, setup->image);
	if (setup->prep)
		draw_say(d, "prepare %s %s\n", node->name, setup->prep);
	else if (node->prep)
		draw_say(d, "clear %s\n", node->name);
}

static inline void draw_start_on(struct draw *d, size_t node, const struct schedule_result *result, char *units, size_t size)
{
	for (size_t i = 0; i < result->start_count; i++) {
		const struct schedule_start *start = &result->starts[i];
		for (size_t k = 0; k < start->share_count; k++) {
			const struct schedule_share *share = &start->shares[k];
			if (share->node_id != d->node[node].id || start->predispatched)
				continue;
			for (int cpu = 0; cpu < share->cpus; cpu++) {
				char *cell = strchr(d->cells[node], '.');
				assert_non_null(cell);
				*cell = (char)('A' + start->step);
			}
			for (size_t g = 0; g < share->gres_count; g++)
				for (size_t u = 0; u < share->gres[g].count; u++)
					snprintf(units + strlen(units), size - strlen(units), u ? ",%d" : " %c=%s:%d",
						 u ? share->gres[g].device[u] : 'A' + start->step, share->gres[g].name,
						 share->gres[g].device[u]);
		}
	}
}

static inline void draw_ahead_on(struct draw *d, size_t node, const struct schedule_result *result)
{
	int count = 0, step = 0;
	for (size_t i = 0; i < result->start_count; i++) {
		const struct schedule_start *start = &result->starts[i];
		if (!start->predispatched || start->shares[0].node_id != d->node[node].id)
			continue;
		assert_true(count == 0 || start->step == step);
		step = start->step;
		count++;
	}
	if (count > 0)
		draw_say(d, " %c+%d", 'A' + step, count);
}

static inline void draw_wait(struct draw *d, const struct schedule_wait *wait)
{
	draw_say(d, "%c %s", 'A' + wait->step, schedule_reason_name(wait->reason));
	if (wait->blocker_step >= 0)
		draw_say(d, " %c", wait->blocker_job == 1 ? 'A' + wait->blocker_step : (int)('a' + wait->blocker_job - 100));
	if (!isnan(wait->expected_at))
		draw_say(d, " +%.0f", wait->expected_at - DRAW_NOW);
	for (size_t i = 0; i < wait->node_count; i++)
		for (size_t k = 0; k < d->snapshot.node_count; k++)
			if (d->node[k].id == wait->node_ids[i])
				draw_say(d, "%s%s", i ? "," : " on ", d->node[k].name);
	draw_say(d, "\n");
}

/* Run the scheduler, and print its result. A CPU that is reserved for a step counts as free for that step. */
static inline const char *draw_answer(struct draw *d, const struct schedule_policy *policy)
{
	struct schedule_result *result = schedule_run(&d->snapshot, policy);
	for (size_t r = 0; r < d->snapshot.running_count; r++)
		for (size_t i = 0; i < result->start_count && d->running[r].reserved; i++)
			if (result->starts[i].step == d->running[r].reserved_for)
				for (size_t n = 0; n < d->snapshot.node_count; n++)
					for (char *cell = d->cells[n]; *cell; cell++)
						*cell = *cell == d->running[r].label[0] ? '.' : *cell;
	for (size_t i = 0; i < d->snapshot.node_count; i++) {
		char units[256] = "";
		draw_start_on(d, i, result, units, sizeof units);
		draw_say(d, "%s %s%s", d->node[i].name, d->cells[i], units);
		draw_ahead_on(d, i, result);
		draw_say(d, "\n");
	}
	for (size_t i = 0; i < result->start_count; i++) {
		const struct schedule_start *start = &result->starts[i];
		if (start->time_limit_s != d->pending[start->pending].time_limit_s)
			draw_say(d, "%c t=%lld\n", 'A' + start->step, (long long)start->time_limit_s);
	}
	for (size_t i = 0; i < result->wait_count; i++)
		draw_wait(d, &result->waits[i]);
	for (size_t i = 0; i < result->wake_count; i++)
		for (size_t k = 0; k < d->snapshot.node_count; k++)
			if (d->node[k].id == result->wake_ids[i])
				draw_say(d, "%s%s%s", i ? "," : "wake ", d->node[k].name,
					 i + 1 == result->wake_count ? "\n" : "");
	for (size_t i = 0; i < result->setup_count; i++)
		for (size_t k = 0; k < d->snapshot.node_count; k++)
			if (d->node[k].id == result->setups[i].node_id)
				draw_setup(d, &d->node[k], &result->setups[i]);
	schedule_result_free(result);
	return d->text;
}

#endif
