/* schedule_resume.c - gives suspended steps their CPUs, GPUs and licences back, after all waiting steps of higher tiers.
 *
 * Called by: lead_resume.c, before the scheduler runs, and `rota plan`.
 * Invariants:
 *  - A suspended step goes on only on its own nodes, with the GPUs that it had, and only if these, its CPUs and licences are free
 *    after the starts of higher tiers.
 *  - Else those of its CPUs and GPUs that are free then are kept for it, so steps of its own tier and of lower ones do not get them.
 *  - The scheduler runs once for each tier. */
#include "jobmgr/schedule/schedule_resume.h"

#include <math.h>
#include <string.h>

struct resume {
	struct schedule_arena *arena;
	const struct schedule_policy *policy;
	const struct schedule_claim *rows;
	struct schedule_change *base;	/* the snapshot in which the chosen steps run, and CPUs are kept for the others */
	struct schedule_change *after;	/* `base`, with the starts of waiting steps of higher tiers */
	struct schedule_result *result; /* result of the scheduler's run for `after`, which refers to its names */
};

/* Run the scheduler for the pending steps of tiers above `tier`. `rows`: number of running rows that may be added to r->after. */
static void resume_run_higher(struct resume *r, int tier, size_t rows)
{
	struct schedule_snapshot s = r->base->snapshot;
	struct schedule_pending *higher = schedule_arena_take(r->arena, s.pending_count, sizeof *higher);
	size_t count = 0;
	for (size_t i = 0; i < s.pending_count; i++)
		if (s.pending[i].tier > tier)
			higher[count++] = s.pending[i];
	s.pending = higher;
	s.pending_count = count;
	schedule_result_free(r->result);
	r->result = schedule_run(&s, r->policy);
	r->after = schedule_change_after(r->arena, &s, r->result, rows);
}

static int64_t license_free(const struct schedule_snapshot *s, const char *name)
{
	for (size_t i = 0; i < s->license_count; i++)
		if (strcmp(s->licenses[i].name, name) == 0)
			return s->licenses[i].total - s->licenses[i].used;
	return 0;
}

static bool is_free(const struct schedule_node *node, const char *name, int device)
{
	for (size_t i = 0; i < node->gres_count; i++)
		for (size_t k = 0; strcmp(node->gres[i].name, name) == 0 && k < node->gres[i].free_count; k++)
			if (node->gres[i].free[k] == device)
				return true;
	return false;
}

static bool devices_fit(const struct schedule_node *node, const struct schedule_claim *row)
{
	for (size_t i = 0; i < row->device_count; i++)
		for (size_t k = 0; k < row->devices[i].count; k++)
			if (!is_free(node, row->devices[i].name, row->devices[i].device[k]))
				return false;
	return true;
}

static bool row_fits(const struct schedule_snapshot *s, const struct schedule_claim *row)
{
	const struct schedule_node *node = schedule_snapshot_node(s, row->node_id);
	if (!node || node->cpus - node->cpus_used < row->cpus || !devices_fit(node, row))
		return false;
	for (size_t i = 0; i < row->license_count; i++)
		if (license_free(s, row->licenses[i].name) < row->licenses[i].count)
			return false;
	return true;
}

/* Returns when the step of a row ends at the latest. */
static double row_ends_at(const struct schedule_snapshot *s, const struct schedule_claim *row)
{
	for (size_t i = 0; i < s->running_count; i++)
		if (s->running[i].job == row->job && s->running[i].step == row->step && s->running[i].node_id == row->node_id)
			return s->running[i].ends_at;
	return INFINITY;
}

static void row_resume(struct schedule_change *change, const struct schedule_claim *row)
{
	const struct schedule_running running = {
		.job = row->job,
		.step = row->step,
		.attempt = 1,
		.node_id = row->node_id,
		.cpus = row->cpus,
		.ends_at = row_ends_at(&change->snapshot, row),
		.licenses = row->licenses,
		.license_count = row->license_count,
	};
	schedule_change_add(change, &running, NULL, 0);
	schedule_change_hold(change, row->devices, row->device_count);
}

/* Keep for a suspended step those CPUs and devices of `row` that are free after the starts of higher tiers. */
static void row_keep(struct resume *r, const struct schedule_claim *row)
{
	const struct schedule_node *node = schedule_snapshot_node(&r->after->snapshot, row->node_id);
	struct schedule_claim left = *row;
	int free = node ? node->cpus - node->cpus_used : 0;
	if (left.cpus > free)
		left.cpus = free;
	left.license_count = 0;
	schedule_change_keep(r->base, &left);
	schedule_change_keep(r->after, &left);
	if (!node)
		return;
	schedule_change_hold(r->after, row->devices, row->device_count);
	const struct schedule_running *kept = &r->after->running[r->after->snapshot.running_count - 1];
	schedule_change_hold(r->base, kept->gres, kept->gres_count);
}

/* Returns true if the suspended step of rows `from` to `to` - 1 goes on. Else CPUs are kept for it. */
static bool resume_step(struct resume *r, size_t from, size_t to)
{
	bool fits = true;
	for (size_t i = from; i < to; i++)
		fits = fits && row_fits(&r->after->snapshot, &r->rows[i]);
	for (size_t i = from; i < to; i++) {
		if (fits) {
			row_resume(r->base, &r->rows[i]);
			row_resume(r->after, &r->rows[i]);
		} else {
			row_keep(r, &r->rows[i]);
		}
	}
	return fits;
}

const bool *schedule_resume(struct schedule_arena *arena, struct schedule_snapshot *snapshot,
			    const struct schedule_policy *policy, const struct schedule_claim *rows, size_t count)
{
	struct resume r = {.arena = arena, .policy = policy, .rows = rows};
	bool *chosen = schedule_arena_take(arena, count, sizeof *chosen);
	r.base = schedule_change_new(arena, snapshot, count);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && rows[to].job == rows[from].job && rows[to].step == rows[from].step; to++)
			;
		if (!r.after || rows[from].tier != rows[from - 1].tier)
			resume_run_higher(&r, rows[from].tier, count - from);
		bool fits = resume_step(&r, from, to);
		for (size_t i = from; i < to; i++)
			chosen[i] = fits;
	}
	schedule_result_free(r.result);
	*snapshot = r.base->snapshot;
	return chosen;
}
