/* agent_buffer.c - keeps records that have been read from the journal until they are reported, by attempt.
 *
 * Called by: agent_report.c. The record that an attempt has started can wait here for its end while other attempts are reported,
 * so a short step takes one report, however busy the node is.
 * Invariants:
 * - All records of an attempt leave together and in their order.
 * - Attempts are sorted by their first record, so every journal record before the buffer's first one has left the buffer. */
#include "procmgr/agent/agent_buffer.h"

#include <search.h>
#include <stdlib.h>

/* Journal records of one attempt that are not reported yet. */
struct buffered {
	struct record_key key;
	struct buffered *previous, *next;
	int64_t position, due;
	struct fields **records;
	int count, capacity;
};

struct agent_buffer {
	struct buffered *first, *last;
	void *by_key; /* tree of tsearch with the buffered attempts */
	int64_t due;
	int count; /* number of records of all attempts */
};

static int compare_keys(const void *a, const void *b)
{
	const struct record_key *x = &((const struct buffered *)a)->key, *y = &((const struct buffered *)b)->key;
	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? -1 : 1;
	if (x->step_id != y->step_id)
		return x->step_id < y->step_id ? -1 : 1;
	return x->attempt != y->attempt ? x->attempt - y->attempt : x->node - y->node;
}

struct agent_buffer *agent_buffer_new(void)
{
	struct agent_buffer *b = xcalloc(1, sizeof *b);
	b->due = INT64_MAX;
	return b;
}

static void remove_attempt(struct agent_buffer *b, struct buffered *one)
{
	*(one->previous ? &one->previous->next : &b->first) = one->next;
	*(one->next ? &one->next->previous : &b->last) = one->previous;
	tdelete(one, &b->by_key, compare_keys);
	b->count -= one->count;
	for (int i = 0; i < one->count; i++)
		fields_free(one->records[i]);
	free(one->records);
	free(one);
}

void agent_buffer_clear(struct agent_buffer *b)
{
	while (b->first)
		remove_attempt(b, b->first);
	b->due = INT64_MAX;
}

void agent_buffer_free(struct agent_buffer *b)
{
	if (!b)
		return;
	agent_buffer_clear(b);
	free(b);
}

/* Find the entry of the attempt. If the attempt has none, append an empty entry to the list. */
static struct buffered *find_attempt(struct agent_buffer *b, const struct record_key *key, int64_t position)
{
	struct buffered *one = xmalloc(sizeof *one);
	*one = (struct buffered){.key = *key, .position = position, .due = INT64_MAX};
	struct buffered *const *found = tsearch(one, &b->by_key, compare_keys);
	if (!found)
		die("out of memory");
	if (*found != one) {
		free(one);
		return *found;
	}
	one->previous = b->last;
	*(b->last ? &b->last->next : &b->first) = one;
	b->last = one;
	return one;
}

void agent_buffer_add(struct agent_buffer *b, const struct record_key *key, const struct fields *record, int64_t position,
		      int64_t due)
{
	struct buffered *one = find_attempt(b, key, position);
	if (one->count == one->capacity) {
		one->capacity = one->capacity ? 2 * one->capacity : 8;
		one->records = xrealloc(one->records, (size_t)one->capacity * sizeof *one->records);
	}
	one->records[one->count++] = fields_share(record);
	b->count++;
	one->due = due < one->due ? due : one->due;
	b->due = due < b->due ? due : b->due;
}

int agent_buffer_count(const struct agent_buffer *b)
{
	return b->count;
}

int64_t agent_buffer_due(const struct agent_buffer *b)
{
	return b->due;
}

int64_t agent_buffer_first_position(const struct agent_buffer *b, int64_t read_to)
{
	return b->first ? b->first->position : read_to;
}

void agent_buffer_take(struct agent_buffer *b, int64_t now, int most, agent_buffer_each *each, void *arg)
{
	int taken = 0;
	b->due = INT64_MAX;
	for (struct buffered *one = b->first, *next; one; one = next) {
		next = one->next;
		if (one->due > now || taken >= most) {
			b->due = one->due < b->due ? one->due : b->due;
			continue;
		}
		taken += each(&one->key, one->records, one->count, arg);
		remove_attempt(b, one);
	}
}
