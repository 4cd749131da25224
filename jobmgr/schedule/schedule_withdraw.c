/* schedule_withdraw.c - finds pre-dispatched elements that nodes must give back, where nodes are sent work for seconds ahead
 * (node.ahead).
 *
 * Called by: lead_cycle_write.c, after the scheduler has run.
 * Invariants:
 *  - An array keeps its pre-dispatched elements only while more could be pre-dispatched (schedule_predispatch.c): no step ahead
 *    of it waits for resources, there is no outage, now or planned, and the array is in the queue. A job on hold is not in the
 *    queue.
 *  - A node that is not usable keeps no pre-dispatched elements.
 *  - An array that has left the queue because all of its elements were sent keeps them, if no more are pre-dispatched than
 *    run. */
#include "jobmgr/schedule/schedule_withdraw.h"

struct held_list {
	struct schedule_withdrawal *item;
	size_t count;
};

static bool is_of(const struct schedule_withdrawal *what, const struct schedule_running *row)
{
	return what->job == row->job && what->request == row->request;
}

/* Add the row's array and node to the list, once. The list is searched from its end, since rows of an array on a node are
 * mostly adjacent. */
static void held_add(struct held_list *held, const struct schedule_running *row)
{
	for (size_t i = held->count; i-- > 0;)
		if (is_of(&held->item[i], row) && held->item[i].node_id == row->node_id)
			return;
	held->item[held->count++] = (struct schedule_withdrawal){row->job, row->request, row->node_id};
}

static struct held_list held_find(struct schedule_arena *arena, const struct schedule_snapshot *s)
{
	size_t rows = 0;
	for (size_t i = 0; i < s->running_count; i++)
		rows += s->running[i].predispatched && !s->running[i].reserved;
	struct held_list held = {schedule_arena_take(arena, rows, sizeof *held.item), 0};
	for (size_t i = 0; i < s->running_count && rows > 0; i++)
		if (s->running[i].predispatched && !s->running[i].reserved)
			held_add(&held, &s->running[i]);
	return held;
}

static bool node_is_usable(const struct schedule_snapshot *s, int id)
{
	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].id == id)
			return s->nodes[i].usable;
	return false;
}

/* Are more elements of the array pre-dispatched than running? */
static bool array_has_many(const struct schedule_snapshot *s, const struct schedule_withdrawal *what)
{
	int running = 0, predispatched = 0;
	for (size_t i = 0; i < s->running_count; i++) {
		const struct schedule_running *row = &s->running[i];
		if (!is_of(what, row) || row->reserved)
			continue;
		running += row->cpus > 0;
		predispatched += row->predispatched;
	}
	return predispatched > running;
}

/* Returns the index of the array in the queue, or the length of the queue if the array is not in it. */
static size_t array_place(const struct schedule_snapshot *s, const struct schedule_withdrawal *what)
{
	size_t i = 0;
	while (i < s->pending_count && (s->pending[i].job != what->job || s->pending[i].step != what->request))
		i++;
	return i;
}

size_t schedule_withdraw_first(const struct schedule_snapshot *s, const struct schedule_result *result)
{
	for (size_t i = 0; i < result->wait_count; i++)
		if (result->waits[i].reason == SCHEDULE_RESOURCES)
			return result->waits[i].pending;
	return s->pending_count;
}

static bool has_outage(const struct schedule_snapshot *s)
{
	for (size_t i = 0; i < s->outage_count; i++)
		if (s->outages[i].to > s->now)
			return true;
	return false;
}

size_t schedule_withdraw(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
			 const struct schedule_result *result, const struct schedule_withdrawal **list)
{
	const struct schedule_snapshot *s = snapshot;
	struct held_list held = held_find(arena, s);
	struct schedule_withdrawal *found = schedule_arena_take(arena, held.count, sizeof *found);
	size_t first = schedule_withdraw_first(s, result), count = 0;
	bool outage = has_outage(s);
	for (size_t i = 0; i < held.count; i++) {
		const struct schedule_withdrawal *what = &held.item[i];
		size_t place = array_place(s, what);
		bool stays = place < s->pending_count ? place <= first : !array_has_many(s, what);
		if (!stays || outage || !node_is_usable(s, what->node_id))
			found[count++] = *what;
	}
	*list = found;
	return count;
}
