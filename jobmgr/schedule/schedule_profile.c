/* schedule_profile.c - keeps the ends, the holds and the live view in step.
 *
 * Called by everything that places steps. */
#include "jobmgr/schedule/schedule_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_kept.h"

static void view_open(const struct schedule_cluster *c, struct schedule_view *view, size_t place)
{
	if (place == c->nodes)
		return;
	if (schedule_cluster_at(c, view->free, place)[SCHEDULE_CPUS] > 0)
		schedule_bits_add(view->open, place);
	else
		schedule_bits_drop(view->open, place);
}

static struct schedule_view view_new(const struct schedule_cluster *c, double at, int64_t *free)
{
	struct schedule_view view = {.at = at, .free = free, .open = schedule_cluster_bits(c)};
	for (size_t place = 0; place < c->nodes; place++)
		view_open(c, &view, place);
	return view;
}

double schedule_profile_until(double at, int64_t seconds)
{
	return seconds && at < SCHEDULE_FOREVER ? at + (double)seconds : SCHEDULE_BEYOND;
}

void schedule_profile_shift(const struct schedule_profile *profile, struct schedule_view *view, size_t place,
			    const int64_t *amount, int sign)
{
	const struct schedule_cluster *c = profile->cluster;
	int64_t *free = schedule_cluster_at(c, view->free, place);
	for (size_t k = 0; k < c->kinds; k++)
		free[k] += sign * amount[k];
	view_open(c, view, place);
}

static void profile_left(struct schedule_profile *profile, size_t place, double after, double until, const int64_t *amount,
			 int sign)
{
	for (struct schedule_piece *piece = profile->pieces[place]; piece; piece = piece->next)
		for (size_t k = 0; piece->from > after && piece->from < until && k < profile->cluster->kinds; k++)
			piece->left[k] += sign * amount[k];
}

void schedule_profile_take(struct schedule_profile *profile, struct schedule_view *view, size_t place, const int64_t *draw,
			   double until)
{
	schedule_profile_shift(profile, view, place, draw, -1);
	if (!view->blind)
		profile_left(profile, place, view->at, until, draw, -1);
}

void schedule_profile_give(struct schedule_profile *profile, struct schedule_view *view, size_t place, const int64_t *draw,
			   double until)
{
	schedule_profile_shift(profile, view, place, draw, 1);
	if (!view->blind)
		profile_left(profile, place, view->at, until, draw, 1);
}

void schedule_profile_end(struct schedule_profile *profile, double at, int place, int source, const int64_t *amount)
{
	if (profile->end_count == profile->end_capacity) {
		struct schedule_arena *arena = profile->cluster->arena;
		size_t capacity = profile->end_capacity ? profile->end_capacity * 2 : 256;
		struct schedule_end *end = schedule_arena_take(arena, capacity, sizeof *end);
		if (profile->end_count)
			memcpy(end, profile->end, profile->end_count * sizeof *end);
		profile->end = end;
		profile->spare = schedule_arena_take(arena, capacity, sizeof *end);
		profile->end_capacity = capacity;
	}
	profile->end[profile->end_count++] = (struct schedule_end){at, place, source, amount};
	if (at >= profile->first_at[place])
		return;
	profile->first_at[place] = at;
	profile->first_source[place] = source;
	double first = profile->first_at[profile->first_place];
	if ((size_t)place < profile->cluster->nodes && (at < first || (at == first && place < profile->first_place)))
		profile->first_place = place;
}

void schedule_profile_release(struct schedule_profile *profile, double at, int place, int source, const int64_t *amount)
{
	schedule_profile_end(profile, at, place, source, amount);
	profile_left(profile, (size_t)place, nextafter(at, 0), SCHEDULE_BEYOND, amount, 1);
}

static int by_time(const void *a, const void *b)
{
	const struct schedule_end *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->source > y->source) - (x->source < y->source);
}

/* Only what was added since the last time is sorted; the rest is merged with it. */
void schedule_profile_sort(struct schedule_profile *profile)
{
	struct schedule_end *a = profile->end, *b = a + profile->sorted, *out = profile->spare;
	size_t m = profile->sorted, n = profile->end_count - profile->sorted;
	if (!n)
		return;
	qsort(b, n, sizeof *b, by_time);
	profile->sorted = profile->end_count;
	if (!m)
		return;
	while (m && n) {
		if (by_time(b, a) < 0) {
			*out++ = *b++;
			n--;
		} else {
			*out++ = *a++;
			m--;
		}
	}
	memcpy(out, m ? a : b, (m + n) * sizeof *out);
	out = profile->end;
	profile->end = profile->spare;
	profile->spare = out;
}

static void holds_grow(struct schedule_profile *profile)
{
	struct schedule_hold ***lists[] = {&profile->hold, &profile->by_from, &profile->by_to};
	if (profile->hold_count < profile->hold_capacity)
		return;
	profile->hold_capacity = profile->hold_capacity ? profile->hold_capacity * 2 : 32;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		struct schedule_hold **list = schedule_arena_take(profile->cluster->arena, profile->hold_capacity, sizeof *list);
		if (profile->hold_count)
			memcpy(list, *lists[i], profile->hold_count * sizeof *list);
		*lists[i] = list;
	}
}

static void holds_insert(struct schedule_profile *profile, struct schedule_hold *hold)
{
	holds_grow(profile);
	size_t from = profile->hold_count, to = from;
	for (; from && profile->by_from[from - 1]->from > hold->from; from--)
		profile->by_from[from] = profile->by_from[from - 1];
	for (; to && profile->by_to[to - 1]->to > hold->to; to--)
		profile->by_to[to] = profile->by_to[to - 1];
	profile->by_from[from] = profile->by_to[to] = profile->hold[profile->hold_count++] = hold;
}

/* Where several pieces begin together on a place, the one that was made last knows what is left by all of them; that is the
 * least, so it is the one that counts. */
static void hold_pieces(struct schedule_profile *profile, const struct schedule_view *view, struct schedule_hold *hold)
{
	const struct schedule_cluster *c = profile->cluster;
	for (size_t i = 0; i < hold->piece_count; i++) {
		struct schedule_piece *piece = &hold->piece[i];
		piece->from = hold->from;
		piece->to = hold->to;
		piece->left = schedule_cluster_amounts(c);
		memcpy(piece->left, schedule_cluster_at(c, view->free, (size_t)piece->place), c->kinds * sizeof *piece->left);
		piece->next = profile->pieces[piece->place];
		profile->pieces[piece->place] = piece;
	}
}

void schedule_profile_hold(struct schedule_profile *profile, const struct schedule_view *view, struct schedule_hold *hold,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		hold_pieces(profile, view, &hold[i]);
		holds_insert(profile, &hold[i]);
	}
}

/* A running row gives back its amounts when it ends; one that is late is expected to end in a second. */
static void profile_running(struct schedule_profile *profile, int index)
{
	const struct schedule_cluster *c = profile->cluster;
	const struct schedule_running *row = &c->snapshot->running[index];
	int place = schedule_cluster_by_id(c, row->node_id);
	double at = row->ends_at < SCHEDULE_FOREVER ? fmax(row->ends_at, profile->live.at + 1) : SCHEDULE_FOREVER;
	if (place >= 0) {
		int64_t *amount = schedule_cluster_amounts(c);
		amount[SCHEDULE_CPUS] = row->cpus;
		amount[SCHEDULE_MEM] = row->mem_mb;
		for (size_t i = 0; i < row->gres_count; i++) {
			int kind = schedule_names_find(&c->gres, row->gres[i].name);
			if (kind >= 0)
				amount[SCHEDULE_FIRST_GRES + kind] += (int64_t)row->gres[i].count;
		}
		schedule_profile_end(profile, at, place, index, amount);
	}
	int64_t *amount = row->license_count ? schedule_cluster_amounts(c) : NULL;
	for (size_t i = 0; i < row->license_count; i++) {
		int kind = schedule_names_find(&c->licenses, row->licenses[i].name);
		if (kind >= 0)
			amount[kind] += row->licenses[i].count;
	}
	if (amount)
		schedule_profile_end(profile, at, (int)c->nodes, index, amount);
}

struct schedule_profile *schedule_profile_new(const struct schedule_cluster *cluster, const struct schedule_keeping *keeping)
{
	struct schedule_profile *profile = schedule_arena_take(cluster->arena, 1, sizeof *profile);
	const struct schedule_snapshot *s = cluster->snapshot;
	profile->cluster = cluster;
	profile->barriers = schedule_outage_index(cluster);
	profile->live = view_new(cluster, s->now, cluster->free);
	profile->pieces = schedule_arena_take(cluster->arena, cluster->nodes + 1, sizeof *profile->pieces);
	profile->first_at = schedule_arena_take(cluster->arena, cluster->nodes + 1, sizeof *profile->first_at);
	profile->first_source = schedule_arena_take(cluster->arena, cluster->nodes + 1, sizeof *profile->first_source);
	for (size_t place = 0; place <= cluster->nodes; place++)
		profile->first_at[place] = SCHEDULE_BEYOND;
	for (size_t i = 0; i < s->running_count; i++)
		if (!s->running[i].kept || !schedule_keeping_for(keeping, s->running[i].job, s->running[i].kept_for))
			profile_running(profile, (int)i);
	return profile;
}

struct schedule_view schedule_profile_empty(const struct schedule_profile *profile)
{
	const struct schedule_cluster *c = profile->cluster;
	size_t amounts = (c->nodes + 1) * c->kinds;
	int64_t *free = schedule_arena_take(c->arena, amounts, sizeof *free);
	memcpy(free, c->total, amounts * sizeof *free);
	struct schedule_view view = view_new(c, profile->live.at, free);
	view.blind = view.calm = view.empty = true;
	return view;
}

void schedule_profile_copy(const struct schedule_profile *profile, struct schedule_view *view)
{
	const struct schedule_cluster *c = profile->cluster;
	size_t amounts = (c->nodes + 1) * c->kinds;
	if (!view->free) {
		view->free = schedule_arena_take(c->arena, amounts, sizeof *view->free);
		view->open = schedule_cluster_bits(c);
	}
	view->at = profile->live.at;
	memcpy(view->free, profile->live.free, amounts * sizeof *view->free);
	memcpy(view->open, profile->live.open, c->words * sizeof *view->open);
}
