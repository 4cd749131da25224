/* schedule_predispatch.c - sends array elements to nodes before there are CPUs for them, so that short elements leave no gaps.
 *
 * Called by: schedule.c, when an array has filled the nodes and has elements left.
 * Invariants:
 *  - Only elements of the first step that waits for resources are pre-dispatched, so they overtake no other step.
 *  - A node that runs no element of the array gets no pre-dispatched one.
 *  - Only CPUs are promised twice; memory is not.
 *  - Of an array with array_ahead, a node gets elements in proportion to those that it runs, NODE_MOST at most: each report of a
 *    node reads all elements that it has. While more elements are pre-dispatched than run, the array's last element stays in the
 *    queue. So the array's place in the queue says which steps go first (schedule_withdraw.c). */
#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_cycle.h"

enum { PREDISPATCH_PER_ELEMENT = 8 }; /* most pre-dispatched elements on a node for each element that runs there */
enum { PREDISPATCH_NODE_MOST = 1000 };

/* Number of running and pre-dispatched elements of an array on one node. */
struct node_elements {
	int running, predispatched;
};

static bool predispatch_is_allowed(const struct schedule_cycle *cycle, const struct schedule_member *member,
				   const struct schedule_cause *cause, int free_slots)
{
	const struct schedule_request *request = member->request;
	bool plain = request->nodes_min == 1 && request->ntasks == 1 && !request->exclusive && !request->whole_memory &&
		     !request->reserved && !request->forced_count && !request->gres_count && !request->license_count &&
		     member->step->deadline_at <= 0;
	bool first = cause->reason == SCHEDULE_RESOURCES && !cycle->profile->reservation_count && !cycle->profile->outages.count;
	/* Pre-dispatched elements count towards limits, so there are none unless the limits allow all remaining elements. */
	return plain && first && (free_slots < 0 || free_slots >= schedule_gang_count_elements(member));
}

/* Count the elements of an array on each node. Returns the sums of all nodes. */
static struct node_elements predispatch_count(const struct schedule_cycle *cycle, const struct schedule_member *member,
					      struct node_elements *nodes)
{
	const struct schedule_snapshot *s = cycle->snapshot;
	const struct schedule_start *starts;
	size_t count = schedule_record_starts(cycle->record, &starts);
	struct node_elements all = {0, 0};
	for (size_t i = 0; i < s->running_count; i++) {
		const struct schedule_running *running = &s->running[i];
		int node_index = running->job == member->step->job && running->request == member->step->step && !running->reserved
					 ? schedule_cluster_by_id(cycle->cluster, running->node_id)
					 : -1;
		if (node_index < 0)
			continue;
		nodes[node_index].running += running->cpus > 0;
		nodes[node_index].predispatched += running->predispatched;
		all.running += running->cpus > 0;
		all.predispatched += running->predispatched;
	}
	for (size_t i = 0; i < count; i++) {
		if (starts[i].pending != member->pending)
			continue;
		nodes[schedule_cluster_by_id(cycle->cluster, starts[i].shares[0].node_id)].running++;
		all.running++;
	}
	return all;
}

/* Pre-dispatch the next element of an array to a node. Returns false if the node has too little free memory. */
static bool predispatch_one(struct schedule_cycle *cycle, struct schedule_member *member, int node_index,
			    struct node_elements *nodes)
{
	const struct schedule_cluster *cluster = cycle->cluster;
	struct schedule_view *live = &cycle->profile->live;
	int64_t *need = schedule_cluster_amounts(cluster), *draw = schedule_cluster_amounts(cluster);
	schedule_request_need(cluster, member->request, node_index, 1, need);
	draw[SCHEDULE_MEM] = need[SCHEDULE_MEM];
	if (live->free[(size_t)node_index * cluster->kinds + SCHEDULE_MEM] < draw[SCHEDULE_MEM])
		return false;
	schedule_profile_shift(cycle->profile, live, (size_t)node_index, draw, -1);
	const struct schedule_taken taken = {.node_index = node_index, .tasks = 1, .need = need, .draw = draw};
	const struct schedule_placed placed = {
		.position = member->position, .seconds = member->request->full_s, .node_count = 1, .predispatched = true};
	schedule_record_start(cycle->record, member, &placed, &taken, false);
	nodes->predispatched++;
	member->position++;
	return true;
}

/* Returns how many elements may be pre-dispatched on a node for each element that runs there. */
static int predispatch_per_element(const struct schedule_pending *step, const struct node_elements *all)
{
	int share = step->array_ahead && all->running > 0 ? (step->array_predispatch + all->running - 1) / all->running : 0;
	return share > PREDISPATCH_PER_ELEMENT ? share : PREDISPATCH_PER_ELEMENT;
}

/* Does the next element, which is the array's last, stay in the queue rather than be pre-dispatched? */
static bool predispatch_keeps_last(const struct schedule_member *member, const struct node_elements *all)
{
	return member->step->array_ahead && all->predispatched > all->running && schedule_gang_count_elements(member) == 1;
}

void schedule_predispatch(struct schedule_cycle *cycle, struct schedule_member *member, const struct schedule_cause *cause,
			  int free_slots)
{
	const struct schedule_cluster *cluster = cycle->cluster;
	if (member->step->array_predispatch <= 0 || !predispatch_is_allowed(cycle, member, cause, free_slots))
		return;
	struct node_elements *nodes = schedule_arena_take(cluster->arena, cluster->nodes, sizeof *nodes);
	struct node_elements all = predispatch_count(cycle, member, nodes);
	int per_element = predispatch_per_element(member->step, &all);
	/* Pre-dispatch one element to each node in turn. */
	for (bool any = true; any;) {
		any = false;
		for (size_t node_index = 0; node_index < cluster->nodes; node_index++) {
			struct node_elements *node = &nodes[node_index];
			if (all.predispatched >= member->step->array_predispatch || !schedule_gang_next_position(member) ||
			    predispatch_keeps_last(member, &all))
				return;
			if (node->predispatched >= per_element * node->running || node->predispatched >= PREDISPATCH_NODE_MOST ||
			    !schedule_bits_has(member->request->mask, node_index) ||
			    !predispatch_one(cycle, member, (int)node_index, node))
				continue;
			any = true;
			all.predispatched++;
		}
	}
}
