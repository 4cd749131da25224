/* plan_rank.c - computes the rank of a submission as the database does (internal.submit_rank).
 *
 * Called by: plan_snapshot.c, for steps of `rota plan --submit`.
 * Invariants:
 *  - A tier weighs more than any points or age. The database says how much waiting time a point is worth.
 *  - Fair share does not count. */
#include "bin/rota/plan/plan_rank.h"

#include <math.h>
#include <string.h>

static const double tier_rank = 1e14, points_most = 4e13, eternal_rank = -5e15; /* as in sql/schedule/preempt.sql */

static int partition_priority(const struct schedule_snapshot *snapshot, const char *partition)
{
	for (size_t i = 0; i < snapshot->partition_count; i++)
		if (!strcmp(snapshot->partitions[i].name, partition))
			return snapshot->partitions[i].priority;
	return 0;
}

static double member_number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Returns what the tier of a partition adds to the ranks of its steps. */
static double partition_rank(const json_t *ranks, const char *partition)
{
	return member_number(json_object_get(ranks, "partitions"), partition) * tier_rank;
}

struct plan_rank plan_rank_queued(const struct schedule_snapshot *snapshot, const json_t *ranks,
				  const struct schedule_pending *step, int64_t rank)
{
	return (struct plan_rank){step->tier, partition_priority(snapshot, step->partition),
				  rank + (int64_t)partition_rank(ranks, step->partition)};
}

struct plan_rank plan_rank_submitted(const struct schedule_snapshot *snapshot, const json_t *ranks, const json_t *job,
				     const char *partition, bool is_eternal)
{
	const char *name = json_string_value(json_object_get(job, "qos"));
	const json_t *qos = json_object_get(json_object_get(ranks, "qos"), name ? name : "normal");
	double points = member_number(job, "priority") - member_number(job, "nice") + member_number(qos, "priority");
	double weight = points * member_number(ranks, "point_ms");
	double rank = fmax(-points_most, fmin(points_most, weight)) + member_number(qos, "tier") * tier_rank -
		      floor(snapshot->now * 1000) + (is_eternal ? eternal_rank : 0);

	rank += partition_rank(ranks, partition);
	return (struct plan_rank){(int)lround(rank / tier_rank), partition_priority(snapshot, partition), (int64_t)rank};
}

bool plan_rank_is_ahead(const struct plan_rank *a, const struct plan_rank *b)
{
	if (a->tier != b->tier)
		return a->tier > b->tier;
	if (a->priority != b->priority)
		return a->priority > b->priority;
	return a->rank >= b->rank;
}
