/* agent_order_list.c - the list of orders that this node has not finished.
 *
 * Called by: agent_order.c, agent_order_launch.c.
 * Invariants:
 * - Orders are sorted by id, and each is in the list once.
 * - An order stays until the database has acknowledged its report, or until agent_order_list_remove() removes it. */
#include "procmgr/agent/agent_order_list.h"

#include <stdlib.h>
#include <string.h>

/* Returns the index of the order with this id, or the index at which to insert the order. */
static int list_index(const struct agent_order_list *l, int64_t id)
{
	int low = 0, high = l->count;
	while (low < high) {
		int middle = (low + high) / 2;
		if (l->item[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct agent_order *agent_order_list_find(struct agent_order_list *l, int64_t id)
{
	int at = list_index(l, id);
	return at < l->count && l->item[at].id == id ? &l->item[at] : NULL;
}

struct agent_order *agent_order_list_insert(struct agent_order_list *l, const struct agent_order *o)
{
	int at = list_index(l, o->id);
	if (l->count == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 64;
		l->item = xrealloc(l->item, (unsigned long)l->capacity * sizeof *l->item);
	}
	memmove(&l->item[at + 1], &l->item[at], (size_t)(l->count - at) * sizeof *l->item);
	l->count++;
	l->item[at] = *o;
	return &l->item[at];
}

struct db_array *agent_order_list_ids(const struct agent_order_list *l)
{
	struct db_array *ids = db_array_new();
	for (int i = 0; i < l->count; i++)
		for (int k = 0; k < l->item[i].id_count; k++)
			db_array_int(ids, l->item[i].ids[k]);
	return ids;
}

bool agent_order_list_repeats_signal(const struct agent_order_list *l, int at)
{
	const struct agent_order *o = &l->item[at];
	for (int i = 0; i < at && strcmp(o->kind, "signal") == 0; i++) {
		const struct agent_order *before = &l->item[i];
		bool waits = before->state == AGENT_ORDER_WAITING && !before->is_launch;
		if (waits && record_key_equal(&before->key, &o->key) && before->start_count == o->start_count &&
		    strcmp(before->kind, o->kind) == 0 && strcmp(before->args, o->args) == 0)
			return true;
	}
	return false;
}

void agent_order_list_remove(struct agent_order_list *l, enum agent_order_state state)
{
	int kept = 0;
	for (int i = 0; i < l->count; i++) {
		if (l->item[i].state == state)
			agent_order_clear(&l->item[i]);
		else
			l->item[kept++] = l->item[i];
	}
	l->count = kept;
}

json_t *agent_order_list_report(struct agent_order_list *l)
{
	json_t *ids = json_array();
	for (int i = 0; i < l->count; i++) {
		struct agent_order *o = &l->item[i];
		if (o->state != AGENT_ORDER_DONE)
			continue;
		for (int k = 0; k < o->id_count; k++)
			json_array_append_new(ids, json_integer(o->ids[k]));
		o->state = AGENT_ORDER_REPORTED;
	}
	return ids;
}

void agent_order_list_report_failed(struct agent_order_list *l)
{
	for (int i = 0; i < l->count; i++)
		if (l->item[i].state == AGENT_ORDER_REPORTED)
			l->item[i].state = AGENT_ORDER_DONE;
}

void agent_order_list_clear(struct agent_order_list *l)
{
	for (int i = 0; i < l->count; i++)
		agent_order_clear(&l->item[i]);
	free(l->item);
	*l = (struct agent_order_list){0};
}
