/* schedule_reserve.c - moves a copy of the cluster from end to end until a unit fits.
 *
 * Called for the first waiting steps of each partition. Only an end makes anything possible (of what runs, of a reservation, of
 * an outage), so only the moments of ends are looked at. At each of them the tasks that a place could take are counted again
 * for the places that changed alone; the unit is tried for good when those counts say that it may fit. */
#include "jobmgr/schedule/schedule_reserve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"

/* One member's counts. */
struct gate {
	const struct schedule_request *request;
	int64_t seconds;
	int *tasks;	    /* by place */
	size_t nodes, tall; /* places with any task; with as many as one node at least must take */
	int64_t sum;
	int tallness;
	double until;
	size_t entered; /* holds that begin before `until` */
	size_t met;	/* outages that begin before `until` */
};

struct schedule_reserve {
	struct schedule_profile *profile;
	const struct schedule_cluster *cluster;
	struct schedule_set *set;
	struct schedule_view view;
	struct gate *gate;
	size_t gates, gate_capacity;
	size_t end, from, to, over;		   /* ends, beginnings and ends of holds, ends of outages in the view */
	size_t end_before, to_before, over_before; /* the same before the last move */
};

struct schedule_reserve *schedule_reserve_new(struct schedule_profile *profile, struct schedule_set *set)
{
	struct schedule_reserve *r = schedule_arena_take(profile->cluster->arena, 1, sizeof *r);
	r->profile = profile;
	r->cluster = profile->cluster;
	r->set = set;
	return r;
}

static void gate_count(struct schedule_reserve *r, struct gate *gate, size_t place)
{
	if (place == r->cluster->nodes || !schedule_bits_has(gate->request->mask, place))
		return;
	int before = gate->tasks[place];
	int after = schedule_fit_tasks(r->profile, &r->view, gate->request, place, gate->until, NULL);
	gate->tasks[place] = after;
	gate->nodes += (after > 0) - (before > 0);
	gate->tall += (after >= gate->tallness) - (before >= gate->tallness);
	gate->sum += after - before;
}

static void reserve_count(struct schedule_reserve *r, size_t place)
{
	for (size_t i = 0; i < r->gates; i++)
		gate_count(r, &r->gate[i], place);
}

/* The holds that the window of a member has reached since the last move. */
static void gate_enter(struct schedule_reserve *r, struct gate *gate)
{
	for (; gate->entered < r->profile->hold_count; gate->entered++) {
		const struct schedule_hold *hold = r->profile->by_from[gate->entered];
		if (hold->from >= gate->until)
			return;
		for (size_t i = 0; i < hold->piece_count; i++)
			gate_count(r, gate, (size_t)hold->piece[i].place);
	}
}

static void gate_recount(struct schedule_reserve *r, struct gate *gate, const struct schedule_barrier *barrier)
{
	for (size_t w = 0; w < r->cluster->words; w++)
		for (uint64_t word = barrier->places[w]; word;)
			gate_count(r, gate, w * 64 + schedule_bits_pop(&word));
}

/* The outages that it has reached. */
static void gate_meet(struct schedule_reserve *r, struct gate *gate)
{
	const struct schedule_barriers *all = &r->profile->barriers;
	for (; gate->met < all->count && all->barrier[gate->met].from < gate->until; gate->met++)
		gate_recount(r, gate, &all->barrier[gate->met]);
}

static bool gate_open(const struct schedule_reserve *r, const struct gate *gate)
{
	return gate->nodes >= (size_t)gate->request->nodes_min && gate->sum >= gate->request->ntasks && gate->tall &&
	       schedule_fit_licenses(r->profile, &r->view, gate->request, gate->until);
}

static void gate_begin(struct schedule_reserve *r, struct gate *gate, const struct schedule_member *member)
{
	const struct schedule_request *request = member->request;
	int *tasks = gate->tasks ? gate->tasks : schedule_arena_take(r->cluster->arena, r->cluster->nodes, sizeof *tasks);
	memset(tasks, 0, r->cluster->nodes * sizeof *tasks);
	*gate = (struct gate){.request = request, .seconds = member->seconds, .tasks = tasks};
	gate->until = schedule_profile_until(r->view.at, gate->seconds);
	gate->tallness = (request->ntasks - 1) / request->nodes_max + 1;
	for (size_t w = 0; w < r->cluster->words; w++)
		for (uint64_t word = request->mask[w]; word;)
			gate_count(r, gate, w * 64 + schedule_bits_pop(&word));
}

static void reserve_begin(struct schedule_reserve *r, const struct schedule_unit *unit)
{
	if (unit->count > r->gate_capacity) {
		r->gate_capacity = unit->count * 2;
		r->gate = schedule_arena_take(r->cluster->arena, r->gate_capacity, sizeof *r->gate);
	}
	schedule_profile_sort(r->profile);
	schedule_profile_copy(r->profile, &r->view);
	r->end = r->from = r->to = r->over = 0;
	r->gates = unit->count;
	for (size_t i = 0; i < unit->count; i++)
		gate_begin(r, &r->gate[i], &unit->member[i]);
}

static void reserve_shift(struct schedule_reserve *r, const struct schedule_hold *hold, int sign)
{
	for (size_t i = 0; i < hold->piece_count; i++) {
		schedule_profile_shift(r->profile, &r->view, (size_t)hold->piece[i].place, hold->piece[i].draw, sign);
		reserve_count(r, (size_t)hold->piece[i].place);
	}
}

/* Move the view to the next end of anything. */
static bool reserve_move(struct schedule_reserve *r)
{
	const struct schedule_profile *p = r->profile;
	const struct schedule_barriers *outages = &p->barriers;
	double at = r->over < outages->count ? outages->by_to[r->over]->to : INFINITY;
	if (r->end < p->end_count)
		at = fmin(at, p->end[r->end].at);
	if (r->to < p->hold_count)
		at = fmin(at, p->by_to[r->to]->to);
	if (at > SCHEDULE_FOREVER)
		return false;
	r->end_before = r->end;
	r->to_before = r->to;
	r->over_before = r->over;
	r->view.at = at;
	for (size_t i = 0; i < r->gates; i++)
		r->gate[i].until = schedule_profile_until(at, r->gate[i].seconds);
	for (; r->from < p->hold_count && p->by_from[r->from]->from <= at; r->from++)
		reserve_shift(r, p->by_from[r->from], -1);
	for (; r->to < p->hold_count && p->by_to[r->to]->to <= at; r->to++)
		reserve_shift(r, p->by_to[r->to], 1);
	for (; r->end < p->end_count && p->end[r->end].at <= at; r->end++) {
		const struct schedule_end *end = &p->end[r->end];
		schedule_profile_shift(p, &r->view, (size_t)end->place, end->amount, 1);
		reserve_count(r, (size_t)end->place);
	}
	for (; r->over < outages->count && outages->by_to[r->over]->to <= at; r->over++)
		for (size_t i = 0; i < r->gates; i++)
			gate_recount(r, &r->gate[i], outages->by_to[r->over]);
	for (size_t i = 0; i < r->gates; i++) {
		gate_enter(r, &r->gate[i]);
		gate_meet(r, &r->gate[i]);
	}
	return true;
}

static bool reserve_uses(const struct schedule_reserve *r, int place)
{
	size_t count;
	const struct schedule_placed *placed = schedule_set_placed(r->set, &count);
	for (size_t i = 0; i < count; i++) {
		const struct schedule_taken *taken = schedule_set_taken(r->set, &placed[i]);
		for (size_t k = 0; k < placed[i].spots + placed[i].licensed; k++)
			if (taken[k].place == place)
				return true;
	}
	return false;
}

/* What ends at that moment, if possible on a place that the unit takes: the last thing it waits for. */
static int reserve_source(const struct schedule_reserve *r)
{
	for (size_t i = r->end_before; i < r->end; i++)
		if (reserve_uses(r, r->profile->end[i].place))
			return r->profile->end[i].source;
	if (r->over_before < r->over)
		return (int)(r->cluster->snapshot->running_count +
			     (size_t)(r->profile->barriers.by_to[r->over_before] - r->profile->barriers.barrier));
	if (r->to_before < r->to)
		return ~(int)r->profile->by_to[r->to_before]->pending;
	return r->profile->end[r->end_before].source;
}

bool schedule_reserve_find(struct schedule_reserve *reserve, const struct schedule_unit *unit, struct schedule_moment *moment)
{
	reserve_begin(reserve, unit);
	while (reserve_move(reserve)) {
		bool open = true;
		for (size_t i = 0; open && i < reserve->gates; i++)
			open = gate_open(reserve, &reserve->gate[i]);
		if (!open || !schedule_set_try(reserve->set, &reserve->view, unit))
			continue;
		*moment = (struct schedule_moment){reserve->view.at, reserve_source(reserve), &reserve->view};
		return true;
	}
	return false;
}
