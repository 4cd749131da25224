/* agent_hold.c - records that have been read from the journal and are not in a report yet, by attempt.
 *
 * Called by the agent's report. That something has begun may wait for its end while other attempts are told of, so that a short step is
 * told once, however busy the node is. What always holds: the records of an attempt leave together and in their order; attempts stand in
 * the order of their first records, so everything in the journal before the first one's has left. */
#include "procmgr/agent/agent_hold.h"

#include <search.h>
#include <stdlib.h>

/* An attempt, with what is to be told of it. */
struct held {
	struct record_key key;
	struct held *previous, *next;
	int64_t position, due;
	struct fields **records;
	int count, room;
};

struct agent_hold {
	struct held *first, *last;
	void *by_key; /* of tsearch */
	int64_t due;
	int count; /* records */
};

static int compare(const void *a, const void *b)
{
	const struct record_key *x = &((const struct held *)a)->key, *y = &((const struct held *)b)->key;
	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? -1 : 1;
	if (x->step_id != y->step_id)
		return x->step_id < y->step_id ? -1 : 1;
	return x->attempt != y->attempt ? x->attempt - y->attempt : x->node - y->node;
}

struct agent_hold *agent_hold_new(void)
{
	struct agent_hold *h = xcalloc(1, sizeof *h);
	h->due = INT64_MAX;
	return h;
}

static void drop(struct agent_hold *h, struct held *one)
{
	*(one->previous ? &one->previous->next : &h->first) = one->next;
	*(one->next ? &one->next->previous : &h->last) = one->previous;
	tdelete(one, &h->by_key, compare);
	h->count -= one->count;
	for (int i = 0; i < one->count; i++)
		fields_free(one->records[i]);
	free(one->records);
	free(one);
}

void agent_hold_clear(struct agent_hold *h)
{
	while (h->first)
		drop(h, h->first);
	h->due = INT64_MAX;
}

void agent_hold_free(struct agent_hold *h)
{
	if (!h)
		return;
	agent_hold_clear(h);
	free(h);
}

static struct held *find(struct agent_hold *h, const struct record_key *key, int64_t position)
{
	struct held *one = xmalloc(sizeof *one);
	*one = (struct held){.key = *key, .position = position, .due = INT64_MAX};
	struct held *const *there = tsearch(one, &h->by_key, compare);
	if (!there)
		die("out of memory");
	if (*there != one) {
		free(one);
		return *there;
	}
	one->previous = h->last;
	*(h->last ? &h->last->next : &h->first) = one;
	h->last = one;
	return one;
}

void agent_hold_add(struct agent_hold *h, const struct record_key *key, const struct fields *record, int64_t position,
		    int64_t due)
{
	struct held *one = find(h, key, position);
	if (one->count == one->room) {
		one->room = one->room ? 2 * one->room : 8;
		one->records = xrealloc(one->records, (size_t)one->room * sizeof *one->records);
	}
	one->records[one->count++] = fields_share(record);
	h->count++;
	one->due = due < one->due ? due : one->due;
	h->due = due < h->due ? due : h->due;
}

int agent_hold_count(const struct agent_hold *h)
{
	return h->count;
}

int64_t agent_hold_due(const struct agent_hold *h)
{
	return h->due;
}

int64_t agent_hold_from(const struct agent_hold *h, int64_t read_to)
{
	return h->first ? h->first->position : read_to;
}

void agent_hold_take(struct agent_hold *h, int64_t now, int most, agent_hold_each *each, void *arg)
{
	int taken = 0;
	h->due = INT64_MAX;
	for (struct held *one = h->first, *next; one; one = next) {
		next = one->next;
		if (one->due > now || taken >= most) {
			h->due = one->due < h->due ? one->due : h->due;
			continue;
		}
		taken += each(&one->key, one->records, one->count, arg);
		drop(h, one);
	}
}
