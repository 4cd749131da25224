/* schedule_ahead.c - elements of an array that are ordered to nodes before there are CPUs for them.
 *
 * Called by schedule.c when an array has filled the nodes and has elements left. Short elements end faster than ends are heard of and others
 * are committed; so that a node always has something to do, it gets a few more than it can run, and begins each when one that runs ends. What
 * always holds: only the first step that waits for resources stands ahead, so nobody is passed; a node that runs none of the array
 * gets none; nothing but CPUs is given away twice. */
#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_cycle.h"

enum { AHEAD_DEPTH = 8 }; /* for each element that runs, so many at the most stand ahead */

/* What a place has of the array. */
struct ahead {
	int held, standing;
};

static bool ahead_may(const struct schedule_pass *pass, const struct schedule_member *member, const struct schedule_cause *cause,
		      int room)
{
	const struct schedule_request *request = member->request;
	bool plain = request->nodes_min == 1 && request->ntasks == 1 && !request->exclusive && !request->whole_memory &&
		     !request->kept && !request->forced_count && !request->gres_count && !request->license_count &&
		     member->step->deadline_at <= 0;
	bool first = cause->reason == SCHEDULE_RESOURCES && !pass->profile->hold_count && !pass->profile->barriers.count;
	/* Where some limit lets fewer start than are left, what stands ahead would count towards it. */
	return plain && first && (room < 0 || room >= schedule_unit_elements(member));
}

/* Those that hold something, by place; how many stand ahead of them already. */
static int ahead_count(const struct schedule_pass *pass, const struct schedule_member *member, struct ahead *ahead)
{
	const struct schedule_snapshot *s = pass->snapshot;
	const struct schedule_start *starts;
	size_t count = schedule_record_starts(pass->record, &starts);
	int standing = 0;
	for (size_t i = 0; i < s->running_count; i++) {
		const struct schedule_running *running = &s->running[i];
		int place = running->job == member->step->job && running->request == member->step->step && !running->kept
				    ? schedule_cluster_by_id(pass->cluster, running->node_id)
				    : -1;
		if (place < 0)
			continue;
		ahead[place].held += running->cpus > 0;
		ahead[place].standing += running->ahead;
		standing += running->ahead;
	}
	for (size_t i = 0; i < count; i++)
		if (starts[i].pending == member->pending)
			ahead[schedule_cluster_by_id(pass->cluster, starts[i].shares[0].node_id)].held++;
	return standing;
}

/* One more on this place, if it has room for it. */
static bool ahead_place(struct schedule_pass *pass, struct schedule_member *member, int place, struct ahead *ahead)
{
	const struct schedule_cluster *cluster = pass->cluster;
	struct schedule_view *live = &pass->profile->live;
	int64_t *need = schedule_cluster_amounts(cluster), *draw = schedule_cluster_amounts(cluster);
	schedule_request_need(cluster, member->request, place, 1, need);
	draw[SCHEDULE_MEM] = need[SCHEDULE_MEM];
	if (live->free[(size_t)place * cluster->kinds + SCHEDULE_MEM] < draw[SCHEDULE_MEM])
		return false;
	schedule_profile_shift(pass->profile, live, (size_t)place, draw, -1);
	const struct schedule_taken taken = {.place = place, .tasks = 1, .need = need, .draw = draw};
	const struct schedule_placed placed = {
		.position = member->position, .seconds = member->request->full_s, .spots = 1, .ahead = true};
	schedule_record_start(pass->record, member, &placed, &taken, false);
	ahead->standing++;
	member->position++;
	return true;
}

void schedule_ahead(struct schedule_pass *pass, struct schedule_member *member, const struct schedule_cause *cause, int room)
{
	const struct schedule_cluster *cluster = pass->cluster;
	if (member->step->array_ahead <= 0 || !ahead_may(pass, member, cause, room))
		return;
	struct ahead *ahead = schedule_arena_take(cluster->arena, cluster->nodes, sizeof *ahead);
	int left = member->step->array_ahead - ahead_count(pass, member, ahead);
	/* One on each place in turn. */
	for (bool any = true; any;) {
		any = false;
		for (size_t place = 0; place < cluster->nodes; place++) {
			if (left <= 0 || !schedule_gang_position(member))
				return;
			if (ahead[place].standing >= AHEAD_DEPTH * ahead[place].held ||
			    !schedule_bits_has(member->request->mask, place) ||
			    !ahead_place(pass, member, (int)place, &ahead[place]))
				continue;
			any = true;
			left--;
		}
	}
}
