/* lead_preempt.c - reserves claims in the snapshot, and turns picks of the scheduler into the argument of api.schedule_preempt.
 *
 * Called by: lead_cycle.c; lead_order.c marks starts that have a claim; lead_moves.c writes claims.
 * Invariants:
 *  - Claims are reserved in the snapshot before the scheduler runs, so no other step gets their resources.
 *  - If no waiting step may preempt others, no candidates are read. */
#include "jobmgr/lead/lead_preempt.h"

#include <jansson.h>
#include <math.h>

#include "jobmgr/schedule/schedule_change.h"
#include "jobmgr/schedule/schedule_preempt.h"
#include "lib/err.h"
#include "lib/log.h"

void lead_preempt_keep(struct lead_rows *rows)
{
	struct schedule_change *change;

	if (rows->claim_count == 0)
		return;
	change = schedule_change_new(rows->arena, &rows->snapshot, rows->claim_count);
	for (size_t i = 0; i < rows->claim_count; i++)
		schedule_change_keep(change, &rows->claims[i]);
	rows->snapshot = change->snapshot;
}

bool lead_preempt_has_claim(const struct lead_rows *rows, int64_t job, int step)
{
	for (size_t i = 0; i < rows->claim_count; i++) {
		if (rows->claims[i].job == job && rows->claims[i].step == step)
			return true;
	}
	return false;
}

bool lead_preempt_is_wanted(const struct lead_rows *rows, const struct schedule_result *result, int *tier)
{
	bool wanted = false;

	for (size_t i = 0; rows->preempts && i < result->wait_count; i++) {
		const struct schedule_pending *step = &rows->snapshot.pending[result->waits[i].pending];

		if (!schedule_preempt_may(&result->waits[i]) ||
		    (step->array_size == 0 && lead_preempt_has_claim(rows, step->job, step->step)))
			continue;
		*tier = !wanted || step->tier > *tier ? step->tier : *tier;
		wanted = true;
	}
	return wanted;
}

double lead_preempt_next_in(const struct lead_rows *rows)
{
	double next = INFINITY;

	for (size_t i = 0; i < rows->candidate_count; i++) {
		if (rows->candidates[i].from_at > rows->snapshot.now)
			next = fmin(next, rows->candidates[i].from_at - rows->snapshot.now);
	}
	return next;
}

static json_t *amounts_json(const struct schedule_devices *gres, size_t count)
{
	json_t *object = json_object();

	for (size_t i = 0; i < count; i++)
		json_object_set_new(object, gres[i].name, json_integer((json_int_t)gres[i].count));
	return object;
}

static json_t *licenses_json(const struct schedule_pending *step)
{
	json_t *object = json_object();

	for (size_t i = 0; i < step->license_count; i++)
		json_object_set_new(object, step->licenses[i].name, json_integer(step->licenses[i].count));
	return object;
}

json_t *lead_preempt_claim_json(const struct schedule_pending *step, const struct schedule_start *start)
{
	json_t *shares = json_array();

	for (size_t i = 0; i < start->share_count; i++) {
		const struct schedule_share *share = &start->shares[i];

		json_array_append_new(shares, json_pack("{s:i, s:i, s:I, s:o, s:o}", "node", share->node_id, "cpus", share->cpus,
							"mem_mb", (json_int_t)share->mem_mb, "gres",
							amounts_json(share->gres, share->gres_count), "licenses",
							i == 0 ? licenses_json(step) : json_object()));
	}
	return json_pack("{s:I, s:i, s:o}", "job", (json_int_t)start->job, "step", start->step, "shares", shares);
}

static json_t *pick_json(const struct lead_rows *rows, const struct schedule_pick *pick)
{
	json_t *steps = json_array(), *victims = json_array();

	for (size_t i = 0; i < pick->start_count; i++)
		json_array_append_new(
			steps, lead_preempt_claim_json(&rows->snapshot.pending[pick->starts[i].pending], &pick->starts[i]));
	for (size_t i = 0; i < pick->victim_count; i++)
		json_array_append_new(victims, json_pack("{s:I, s:i, s:i}", "job", (json_int_t)pick->victims[i]->job, "step",
							 pick->victims[i]->step, "attempt", pick->victims[i]->attempt));
	return json_pack("{s:o, s:o}", "steps", steps, "victims", victims);
}

char *lead_preempt_picks_json(const struct lead_rows *rows, const struct schedule_policy *policy,
			      const struct schedule_result *result, bool *has_more)
{
	struct schedule_picks picks = schedule_preempt(rows->arena, &rows->snapshot, policy, result, rows->candidates,
						       rows->candidate_count, rows->claims, rows->claim_count);
	json_t *list;
	char *text;

	log_debug("preemption: %zu candidates, %zu picks in %zu runs", rows->candidate_count, picks.count, picks.runs);
	*has_more = picks.has_more && picks.count > 0;
	if (picks.count == 0)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < picks.count; i++)
		json_array_append_new(list, pick_json(rows, &picks.list[i]));
	text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	if (!text)
		die("could not write the picks of preemption as JSON");
	return text;
}
