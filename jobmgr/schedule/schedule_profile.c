/* schedule_profile.c - keeps ends of steps, backfill reservations and the live view of the cluster consistent.
 *
 * Called by: schedule.c, schedule_decide.c, schedule_wait.c, schedule_placement.c, schedule_earliest.c and schedule_fit.c. */
#include "jobmgr/schedule/schedule_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_reserved.h"

static void view_update_free_cpu(const struct schedule_cluster *c, struct schedule_view *view, size_t node_index)
{
	if (node_index == c->nodes)
		return;
	if (schedule_cluster_at(c, view->free, node_index)[SCHEDULE_CPUS] > 0)
		schedule_bits_add(view->with_free_cpu, node_index);
	else
		schedule_bits_drop(view->with_free_cpu, node_index);
}

static struct schedule_view view_new(const struct schedule_cluster *c, double at, int64_t *free)
{
	struct schedule_view view = {.at = at, .free = free, .with_free_cpu = schedule_cluster_bits(c)};
	for (size_t node_index = 0; node_index < c->nodes; node_index++)
		view_update_free_cpu(c, &view, node_index);
	return view;
}

double schedule_profile_until(double at, int64_t seconds)
{
	return seconds && at < SCHEDULE_FOREVER ? at + (double)seconds : SCHEDULE_BEYOND;
}

void schedule_profile_shift(const struct schedule_profile *profile, struct schedule_view *view, size_t node_index,
			    const int64_t *amount, int sign)
{
	const struct schedule_cluster *c = profile->cluster;
	int64_t *free = schedule_cluster_at(c, view->free, node_index);
	for (size_t k = 0; k < c->kinds; k++)
		free[k] += sign * amount[k];
	view_update_free_cpu(c, view, node_index);
}

static void profile_change_left(struct schedule_profile *profile, size_t node_index, double after, double until,
				const int64_t *amount, int sign)
{
	for (struct schedule_reservation_part *part = profile->parts[node_index]; part; part = part->next)
		for (size_t k = 0; part->from > after && part->from < until && k < profile->cluster->kinds; k++)
			part->left[k] += sign * amount[k];
}

void schedule_profile_take(struct schedule_profile *profile, struct schedule_view *view, size_t node_index, const int64_t *draw,
			   double until)
{
	schedule_profile_shift(profile, view, node_index, draw, -1);
	if (!view->ignores_reservations)
		profile_change_left(profile, node_index, view->at, until, draw, -1);
}

void schedule_profile_give(struct schedule_profile *profile, struct schedule_view *view, size_t node_index, const int64_t *draw,
			   double until)
{
	schedule_profile_shift(profile, view, node_index, draw, 1);
	if (!view->ignores_reservations)
		profile_change_left(profile, node_index, view->at, until, draw, 1);
}

void schedule_profile_add_end(struct schedule_profile *profile, double at, int node_index, int source, const int64_t *amount)
{
	if (profile->end_count == profile->end_capacity) {
		struct schedule_arena *arena = profile->cluster->arena;
		size_t capacity = profile->end_capacity ? profile->end_capacity * 2 : 256;
		struct schedule_end *end = schedule_arena_take(arena, capacity, sizeof *end);
		if (profile->end_count)
			memcpy(end, profile->end, profile->end_count * sizeof *end);
		profile->end = end;
		profile->merged = schedule_arena_take(arena, capacity, sizeof *end);
		profile->end_capacity = capacity;
	}
	profile->end[profile->end_count++] = (struct schedule_end){at, node_index, source, amount};
	if (at >= profile->first_at[node_index])
		return;
	profile->first_at[node_index] = at;
	profile->first_source[node_index] = source;
	double first = profile->first_at[profile->first_node];
	if ((size_t)node_index < profile->cluster->nodes && (at < first || (at == first && node_index < profile->first_node)))
		profile->first_node = node_index;
}

void schedule_profile_add_release(struct schedule_profile *profile, double at, int node_index, int source, const int64_t *amount)
{
	schedule_profile_add_end(profile, at, node_index, source, amount);
	profile_change_left(profile, (size_t)node_index, nextafter(at, 0), SCHEDULE_BEYOND, amount, 1);
}

static int compare_ends(const void *a, const void *b)
{
	const struct schedule_end *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->node_index != y->node_index)
		return x->node_index < y->node_index ? -1 : 1;
	return (x->source > y->source) - (x->source < y->source);
}

/* Sort the ends that were added since the last call, and merge them with the sorted ends. */
void schedule_profile_sort(struct schedule_profile *profile)
{
	struct schedule_end *a = profile->end, *b = a + profile->sorted, *out = profile->merged;
	size_t m = profile->sorted, n = profile->end_count - profile->sorted;
	if (!n)
		return;
	qsort(b, n, sizeof *b, compare_ends);
	profile->sorted = profile->end_count;
	if (!m)
		return;
	while (m && n) {
		if (compare_ends(b, a) < 0) {
			*out++ = *b++;
			n--;
		} else {
			*out++ = *a++;
			m--;
		}
	}
	memcpy(out, m ? a : b, (m + n) * sizeof *out);
	out = profile->end;
	profile->end = profile->merged;
	profile->merged = out;
}

static void reservations_grow(struct schedule_profile *profile)
{
	struct schedule_reservation ***lists[] = {&profile->reservations, &profile->by_from, &profile->by_to};
	if (profile->reservation_count < profile->reservation_capacity)
		return;
	profile->reservation_capacity = profile->reservation_capacity ? profile->reservation_capacity * 2 : 32;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		struct schedule_reservation **list =
			schedule_arena_take(profile->cluster->arena, profile->reservation_capacity, sizeof *list);
		if (profile->reservation_count)
			memcpy(list, *lists[i], profile->reservation_count * sizeof *list);
		*lists[i] = list;
	}
}

static void reservations_insert(struct schedule_profile *profile, struct schedule_reservation *reservation)
{
	reservations_grow(profile);
	size_t from = profile->reservation_count, to = from;
	for (; from && profile->by_from[from - 1]->from > reservation->from; from--)
		profile->by_from[from] = profile->by_from[from - 1];
	for (; to && profile->by_to[to - 1]->to > reservation->to; to--)
		profile->by_to[to] = profile->by_to[to - 1];
	profile->by_from[from] = profile->by_to[to] = profile->reservations[profile->reservation_count++] = reservation;
}

/* Add the parts of a backfill reservation to their nodes. If several parts begin together on a node, the last part has the least
 * left free, and counts. */
static void reservation_add_parts(struct schedule_profile *profile, const struct schedule_view *view,
				  struct schedule_reservation *reservation)
{
	const struct schedule_cluster *c = profile->cluster;
	for (size_t i = 0; i < reservation->part_count; i++) {
		struct schedule_reservation_part *part = &reservation->parts[i];
		part->from = reservation->from;
		part->to = reservation->to;
		part->left = schedule_cluster_amounts(c);
		memcpy(part->left, schedule_cluster_at(c, view->free, (size_t)part->node_index), c->kinds * sizeof *part->left);
		part->next = profile->parts[part->node_index];
		profile->parts[part->node_index] = part;
	}
}

void schedule_profile_reserve(struct schedule_profile *profile, const struct schedule_view *view,
			      struct schedule_reservation *reservation, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		reservation_add_parts(profile, view, &reservation[i]);
		reservations_insert(profile, &reservation[i]);
	}
}

/* Add the end of a running step, which frees its resources. A step that is past its time limit is expected to end within a
 * second. */
static void profile_add_running(struct schedule_profile *profile, int index)
{
	const struct schedule_cluster *c = profile->cluster;
	const struct schedule_running *row = &c->snapshot->running[index];
	int node_index = schedule_cluster_by_id(c, row->node_id);
	double at = row->ends_at < SCHEDULE_FOREVER ? fmax(row->ends_at, profile->live.at + 1) : SCHEDULE_FOREVER;
	if (node_index >= 0) {
		int64_t *amount = schedule_cluster_amounts(c);
		amount[SCHEDULE_CPUS] = row->cpus;
		amount[SCHEDULE_MEM] = row->mem_mb;
		for (size_t i = 0; i < row->gres_count; i++) {
			int kind = schedule_names_find(&c->gres, row->gres[i].name);
			if (kind >= 0)
				amount[SCHEDULE_FIRST_GRES + kind] += (int64_t)row->gres[i].count;
		}
		schedule_profile_add_end(profile, at, node_index, index, amount);
	}
	int64_t *amount = row->license_count ? schedule_cluster_amounts(c) : NULL;
	for (size_t i = 0; i < row->license_count; i++) {
		int kind = schedule_names_find(&c->licenses, row->licenses[i].name);
		if (kind >= 0)
			amount[kind] += row->licenses[i].count;
	}
	if (amount)
		schedule_profile_add_end(profile, at, (int)c->nodes, index, amount);
}

struct schedule_profile *schedule_profile_new(const struct schedule_cluster *cluster,
					      const struct schedule_reserved_index *reserved_index)
{
	struct schedule_profile *profile = schedule_arena_take(cluster->arena, 1, sizeof *profile);
	const struct schedule_snapshot *s = cluster->snapshot;
	profile->cluster = cluster;
	profile->outages = schedule_outage_list_make(cluster);
	profile->live = view_new(cluster, s->now, cluster->free);
	profile->parts = schedule_arena_take(cluster->arena, cluster->nodes + 1, sizeof *profile->parts);
	profile->first_at = schedule_arena_take(cluster->arena, cluster->nodes + 1, sizeof *profile->first_at);
	profile->first_source = schedule_arena_take(cluster->arena, cluster->nodes + 1, sizeof *profile->first_source);
	for (size_t node_index = 0; node_index <= cluster->nodes; node_index++)
		profile->first_at[node_index] = SCHEDULE_BEYOND;
	profile->first_reserved = s->running_count;
	for (size_t i = 0; i < s->running_count; i++) {
		if (s->running[i].reserved && i < profile->first_reserved)
			profile->first_reserved = i;
		if (!s->running[i].reserved ||
		    !schedule_reserved_for(reserved_index, s->running[i].job, s->running[i].reserved_for))
			profile_add_running(profile, (int)i);
	}
	return profile;
}

struct schedule_view schedule_profile_empty(const struct schedule_profile *profile)
{
	const struct schedule_cluster *c = profile->cluster;
	size_t amounts = (c->nodes + 1) * c->kinds;
	int64_t *free = schedule_arena_take(c->arena, amounts, sizeof *free);
	memcpy(free, c->total, amounts * sizeof *free);
	struct schedule_view view = view_new(c, profile->live.at, free);
	view.ignores_reservations = view.ignores_outages = view.empty = true;
	return view;
}

void schedule_profile_copy(const struct schedule_profile *profile, struct schedule_view *view)
{
	const struct schedule_cluster *c = profile->cluster;
	size_t amounts = (c->nodes + 1) * c->kinds;
	if (!view->free) {
		view->free = schedule_arena_take(c->arena, amounts, sizeof *view->free);
		view->with_free_cpu = schedule_cluster_bits(c);
	}
	view->at = profile->live.at;
	memcpy(view->free, profile->live.free, amounts * sizeof *view->free);
	memcpy(view->with_free_cpu, profile->live.with_free_cpu, c->words * sizeof *view->with_free_cpu);
}
