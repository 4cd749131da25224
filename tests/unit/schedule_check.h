/* schedule_check.h - the invariants of every result of the scheduler, checked against the snapshot alone. */
#ifndef ROTA_TESTS_SCHEDULE_CHECK_H
#define ROTA_TESTS_SCHEDULE_CHECK_H

#include "tests/unit/schedule_world.h"

enum { GPU = 2, KINDS };

struct check {
	struct world *w;
	const struct schedule_result *result;
	int64_t take[WORLD_STEPS][WORLD_NODES][KINDS]; /* by pending step and node */
	int64_t reserved[WORLD_STEPS][WORLD_NODES][KINDS];
	int64_t license[WORLD_STEPS][2], reserved_license[WORLD_STEPS][2];
	int started[WORLD_STEPS];
};

static inline int license_index(const char *name)
{
	return strcmp(name, "x") != 0;
}

static inline void check_fill(struct check *c)
{
	struct world *w = c->w;
	for (size_t i = 0; i < c->result->start_count; i++) {
		const struct schedule_start *start = &c->result->starts[i];
		c->started[start->pending]++;
		for (size_t k = 0; k < w->pending[start->pending].license_count; k++)
			c->license[start->pending][license_index(w->pending[start->pending].licenses[k].name)] +=
				w->pending[start->pending].licenses[k].count;
		for (size_t k = 0; k < start->share_count; k++) {
			int64_t *take = c->take[start->pending][start->shares[k].node_id - 1];
			take[0] += start->shares[k].cpus;
			take[1] += start->shares[k].mem_mb;
			for (size_t g = 0; g < start->shares[k].gres_count; g++)
				take[GPU] += (int64_t)start->shares[k].gres[g].count;
		}
	}
	for (size_t r = 0; r < w->snapshot.running_count; r++) {
		const struct schedule_running *row = &w->running[r];
		for (size_t p = 0; row->reserved && p < w->snapshot.pending_count; p++) {
			if (w->pending[p].job != row->job || w->pending[p].step != row->reserved_for)
				continue;
			c->reserved[p][row->node_id - 1][0] += row->cpus;
			c->reserved[p][row->node_id - 1][1] += row->mem_mb;
			c->reserved[p][row->node_id - 1][GPU] += row->gres_count ? (int64_t)row->gres[0].count : 0;
			for (size_t k = 0; k < row->license_count; k++)
				c->reserved_license[p][license_index(row->licenses[k].name)] += row->licenses[k].count;
		}
	}
}

static inline int64_t beyond(int64_t take, int64_t reserved)
{
	return take > reserved ? take - reserved : 0;
}

/* No step takes a resource that is not free, or that is reserved for another step. */
static inline void check_amounts(const struct check *c)
{
	const struct schedule_snapshot *s = &c->w->snapshot;
	for (size_t n = 0; n < s->node_count; n++) {
		int64_t sum[KINDS] = {0};
		for (size_t p = 0; p < s->pending_count; p++)
			for (size_t k = 0; k < KINDS; k++)
				sum[k] += beyond(c->take[p][n][k], c->reserved[p][n][k]);
		assert_true(sum[0] <= s->nodes[n].cpus - s->nodes[n].cpus_used);
		assert_true(sum[1] <= s->nodes[n].mem_mb - s->nodes[n].mem_used_mb);
		assert_true(sum[GPU] <= (int64_t)c->w->gres[n].free_count);
	}
	for (int l = 0; l < 2; l++) {
		int64_t sum = 0;
		for (size_t p = 0; p < s->pending_count; p++)
			sum += beyond(c->license[p][l], c->reserved_license[p][l]);
		assert_true(!sum || sum <= s->licenses[l].total - s->licenses[l].used);
	}
}

/* Each device is given once, and was free or reserved for the step that gets it. */
static inline void check_units(const struct check *c)
{
	bool given[WORLD_NODES][WORLD_UNITS] = {0};
	for (size_t i = 0; i < c->result->start_count; i++) {
		const struct schedule_start *start = &c->result->starts[i];
		for (size_t k = 0; k < start->share_count; k++) {
			const struct schedule_share *share = &start->shares[k];
			for (size_t u = 0; share->gres_count && u < share->gres[0].count; u++) {
				int unit = share->gres[0].device[u], node = share->node_id - 1;
				bool had = false;
				for (size_t f = 0; f < c->w->gres[node].free_count; f++)
					had |= c->w->gres[node].free[f] == unit;
				for (size_t r = 0; r < c->w->snapshot.running_count; r++) {
					const struct schedule_running *row = &c->w->running[r];
					had |= row->reserved && row->job == start->job && row->reserved_for == start->step &&
					       row->node_id == share->node_id && row->gres_count &&
					       row->gres[0].device[0] == unit;
				}
				assert_true(had && !given[node][unit]);
				given[node][unit] = true;
			}
		}
	}
}

static inline bool listed(const int *id, size_t count, int wanted)
{
	for (size_t i = 0; i < count; i++)
		if (id[i] == wanted)
			return true;
	return false;
}

static inline bool named(const char *const *name, size_t count, const char *wanted)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name[i], wanted))
			return true;
	return false;
}

static inline const struct schedule_partition *partition_of(const struct world *w, const char *name)
{
	size_t i = 0;
	while (strcmp(w->partition[i].name, name))
		i++;
	return &w->partition[i];
}

static inline bool constraint_matches(const char *text, const struct schedule_node *node)
{
	size_t i = 0, set = 0;
	while (world_constraints[i].text != text)
		i++;
	while (world_features[set] != node->features)
		set++;
	return world_constraints[i].matches >> set & 1;
}

/* A node of a start is one that the step may run on, and provides the requested resources. */
static inline void check_share(const struct check *c, const struct schedule_pending *p, const struct schedule_share *share)
{
	const struct schedule_node *node = world_node(c->w, share->node_id);
	const struct schedule_partition *partition = partition_of(c->w, p->partition);
	int cpus = share->tasks * (p->cpus_per_task ? p->cpus_per_task : 1);
	assert_true(node->usable && node->power == SCHEDULE_POWER_ON &&
		    listed(partition->node_ids, partition->node_count, node->id));
	assert_true(constraint_matches(p->constraint, node));
	assert_true(!p->nodelist_count || named(p->nodelist, p->nodelist_count, node->name));
	assert_false(named(p->exclude, p->exclude_count, node->name));
	assert_false(listed(p->other_nodes, p->other_nodes_count, node->id));
	assert_true(share->tasks >= 1 && (!p->ntasks_per_node || share->tasks <= p->ntasks_per_node));
	assert_int_equal(share->cpus, p->exclusive ? node->cpus : cpus);
	assert_int_equal(share->mem_mb, p->exclusive ? node->mem_mb : p->mem_mb ? p->mem_mb : p->mem_per_cpu_mb * cpus);
	assert_true(share->mem_mb >= p->mem_mb && share->mem_mb >= (p->mem_mb ? 0 : p->mem_per_cpu_mb * cpus));
	assert_int_equal(share->gres_count, p->gres_count);
	assert_true(!p->gres_count || share->gres[0].count == (size_t)p->gres[0].count);
}

/* A step's time does not overlap an outage of its nodes that does not let it in. */
static inline void check_outages(const struct check *c, const struct schedule_pending *p, int node_id, double from, double to)
{
	for (size_t i = 0; i < c->w->snapshot.outage_count; i++) {
		const struct schedule_outage *outage = &c->w->outage[i];
		if (listed(outage->node_ids, outage->node_count, node_id) &&
		    !(outage->id && listed(p->admitted, p->admitted_count, outage->id)))
			assert_true(to <= outage->from || from >= outage->to);
	}
}

static inline int more(int a, int b)
{
	return a > b ? a : b;
}

static inline void check_start(const struct check *c, const struct schedule_start *start)
{
	const struct schedule_pending *p = &c->w->pending[start->pending];
	const struct schedule_partition *partition = partition_of(c->w, p->partition);
	int nodes = (int)start->share_count, tasks = 0;
	int64_t limit = start->time_limit_s;
	for (int i = 0; i < nodes; i++) {
		check_share(c, p, &start->shares[i]);
		check_outages(c, p, start->shares[i].node_id, c->w->snapshot.now,
			      limit ? c->w->snapshot.now + (double)limit : INFINITY);
		tasks += start->shares[i].tasks;
		for (int k = 0; k < i; k++)
			assert_int_not_equal(start->shares[i].node_id, start->shares[k].node_id);
		if (p->same_nodes_count)
			assert_int_equal(start->shares[i].node_id, p->same_nodes[i]);
	}
	assert_true(start->job == p->job && start->step == p->step && partition->state != SCHEDULE_DOWN);
	assert_true(!partition->max_nodes || nodes <= partition->max_nodes);
	assert_true(p->same_nodes_count ? nodes == (int)p->same_nodes_count : nodes >= p->nodes_min);
	assert_true(p->same_nodes_count || !p->nodes_max || nodes <= more(p->nodes_max, more(1, p->nodes_min)));
	assert_int_equal(tasks, more(p->ntasks, nodes));
	assert_true(!p->time_limit_s || (limit && limit <= p->time_limit_s));
	assert_true(!partition->max_time_s || (limit && limit <= partition->max_time_s));
	assert_true(p->deadline_at <= 0 || (limit && c->w->snapshot.now + (double)limit <= p->deadline_at));
	assert_true(limit >= p->time_min_s || !limit || limit == p->time_limit_s);
	if (!p->time_min_s && !p->deadline_at)
		assert_int_equal(limit, p->time_limit_s);
}

static inline int array_left(const struct schedule_pending *p)
{
	int left = 0;
	for (int i = p->array_next; i < p->array_size; i++)
		left += !listed(p->array_skip, p->array_skip_count, i);
	return left;
}

/* Elements of arrays start in order and within the array's limit. A step waits with a reason exactly if a part of it did not
 * start. */
static inline void check_waits(const struct check *c)
{
	const struct schedule_snapshot *s = &c->w->snapshot;
	int next[WORLD_STEPS] = {0}, waits[WORLD_STEPS] = {0};
	for (size_t i = 0; i < c->result->wait_count; i++) {
		const struct schedule_wait *wait = &c->result->waits[i];
		assert_true(!i || wait->pending > c->result->waits[i - 1].pending);
		assert_true(wait->message && *wait->message && (isnan(wait->expected_at) || wait->expected_at > s->now));
		waits[wait->pending]++;
		const struct schedule_pending *p = &s->pending[wait->pending];
		bool for_nodes =
			wait->reason == SCHEDULE_POWER || wait->reason == SCHEDULE_IMAGE || wait->reason == SCHEDULE_PREP;
		double at = for_nodes ? s->now : wait->expected_at;
		for (size_t k = 0; k < wait->node_count && p->time_limit_s && !p->time_min_s && p->deadline_at <= 0; k++)
			if (!partition_of(c->w, p->partition)->max_time_s)
				check_outages(c, p, wait->node_ids[k], at, at + (double)p->time_limit_s);
	}
	for (size_t i = 0; i < c->result->start_count; i++) {
		const struct schedule_start *start = &c->result->starts[i];
		const struct schedule_pending *p = &s->pending[start->pending];
		int *at = &next[start->pending];
		if (!p->array_size) {
			assert_int_equal(start->position, -1);
			continue;
		}
		assert_true(start->position >= more(*at, p->array_next) && start->position < p->array_size);
		assert_false(listed(p->array_skip, p->array_skip_count, start->position));
		*at = start->position + 1;
	}
	for (size_t i = 0; i < s->pending_count; i++) {
		const struct schedule_pending *p = &s->pending[i];
		int wanted = p->array_size ? array_left(p) : 1;
		assert_true(c->started[i] <= wanted &&
			    (p->array_free_slots < 0 || !p->array_size || c->started[i] <= p->array_free_slots));
		if (!p->with_count)
			assert_int_equal(waits[i], c->started[i] < wanted);
	}
}

/* All members of a gang start or none, on the same nodes or on others as they request. */
static inline void check_sets(const struct check *c)
{
	const struct schedule_snapshot *s = &c->w->snapshot;
	for (size_t i = 0; i < s->pending_count; i++) {
		for (size_t k = 0; k < s->pending_count; k++) {
			const struct schedule_pending *a = &s->pending[i], *b = &s->pending[k];
			if (i == k || !a->with_count || !b->with_count || a->job != b->job || a->with_set != b->with_set)
				continue;
			int wants_a = a->array_size ? array_left(a) : 1, wants_b = b->array_size ? array_left(b) : 1;
			if (wants_a && wants_b)
				assert_int_equal(c->started[i] > 0, c->started[k] > 0);
			assert_true(!c->started[i] || c->started[i] == wants_a);
			for (size_t n = 0; c->started[i] && c->started[k] && n < s->node_count; n++) {
				bool on_a = c->take[i][n][0] > 0, on_b = c->take[k][n][0] > 0;
				assert_false(listed(a->other_than, a->other_than_count, b->step) && on_a && on_b);
				if (listed(a->same_as, a->same_as_count, b->step) && !a->array_size && !b->array_size)
					assert_int_equal(on_a, on_b);
			}
		}
	}
}

/* Each step starts on nodes with its setup, and only nodes that are entirely free get another setup. */
static inline void check_setups(const struct check *c)
{
	const struct schedule_snapshot *s = &c->w->snapshot;
	for (size_t p = 0; p < s->pending_count; p++)
		for (size_t n = 0; n < s->node_count; n++) {
			const struct schedule_node *node = &s->nodes[n];
			const struct schedule_pending *step = &s->pending[p];
			const char *image = step->image ? step->image : node->image ? node->default_image : NULL;
			if (!c->take[p][n][0])
				continue;
			assert_true(!image || (node->image && !strcmp(image, node->image)));
			assert_true(step->prep ? node->prep && !strcmp(step->prep, node->prep) : !node->prep);
		}
	for (size_t i = 0; i < c->result->setup_count; i++) {
		const struct schedule_setup *setup = &c->result->setups[i];
		size_t n = (size_t)setup->node_id - 1;
		const struct schedule_node *node = &s->nodes[n];
		bool boots = setup->image && !(node->image && !strcmp(node->image, setup->image));
		assert_true(!boots || (node->default_image && node->image));
		assert_true(boots || (setup->prep ? !node->prep || strcmp(setup->prep, node->prep) : node->prep != NULL));
		assert_true(node->usable && node->power == SCHEDULE_POWER_ON && !node->cpus_used && !node->mem_used_mb);
		for (size_t p = 0; p < s->pending_count; p++)
			assert_int_equal(c->take[p][n][0], 0);
	}
}

static inline void check_result(struct world *w, const struct schedule_result *result)
{
	struct check *c = calloc(1, sizeof *c);
	c->w = w;
	c->result = result;
	check_fill(c);
	check_amounts(c);
	check_units(c);
	check_setups(c);
	for (size_t i = 0; i < result->start_count; i++)
		check_start(c, &result->starts[i]);
	check_waits(c);
	check_sets(c);
	free(c);
}

#endif
