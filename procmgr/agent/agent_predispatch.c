/* agent_predispatch.c - counts running attempts, to find how many pre-dispatched elements may start.
 *
 * Called by: agent_order_launch.c. An order of pre-dispatched elements names the steps of its array and its concurrency limit:
 * the number of elements that had CPUs when the order was committed. When an element ends, the database gives its CPUs to a
 * pre-dispatched element (sql/schedule/predispatch.sql). The limit stays the same, and the agent starts the next element without
 * asking. An element that is started with CPUs of its own raises the limit of earlier orders.
 * Invariants:
 * - An attempt counts as running from before its launch request is sent to the launcher until its record `end` or `refused` is in
 *   the journal, also across a restart of procmgrd.
 * - Elements start without the database while the node's lease is valid. Until the lease ends, the database gives CPUs that it
 *   has committed to the node to no other step. */
#include "procmgr/agent/agent_predispatch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "procmgr/agent/agent_spool.h"

enum { COMPLETED_MOST = 256 };

struct running {
	struct record_key key;
	bool suspended;
	bool complete; /* all tasks of the attempt have succeeded */
};

struct agent_predispatch {
	struct running *running;
	int count, capacity;
	struct record_key completed[COMPLETED_MOST]; /* the attempts that completed last */
	int completed_count;			     /* number of all attempts that have completed */
	bool unlimited;
};

static int find_running(const struct agent_predispatch *p, const struct record_key *key)
{
	int i = p->count - 1;
	while (i >= 0 && !record_key_equal(&p->running[i].key, key))
		i--;
	return i;
}

static void add_running(const struct record_key *key, void *arg)
{
	struct agent_predispatch *p = arg;
	if (p->count == p->capacity) {
		p->capacity = p->capacity ? 2 * p->capacity : 64;
		p->running = xrealloc(p->running, (unsigned long)p->capacity * sizeof *p->running);
	}
	p->running[p->count++] = (struct running){.key = *key};
}

struct agent_predispatch *agent_predispatch_new(bool unlimited)
{
	struct agent_predispatch *p = xcalloc(1, sizeof *p);
	p->unlimited = unlimited;
	agent_spool_each(add_running, p);
	return p;
}

void agent_predispatch_free(struct agent_predispatch *p)
{
	if (!p)
		return;
	free(p->running);
	free(p);
}

bool agent_predispatch_runs(const struct agent_predispatch *p, const struct record_key *key)
{
	return find_running(p, key) >= 0;
}

bool agent_predispatch_has_completed(const struct agent_predispatch *p, const struct record_key *key)
{
	int last = p->completed_count - COMPLETED_MOST;
	for (int i = p->completed_count - 1; i >= 0 && i >= last; i--)
		if (record_key_equal(&p->completed[i % COMPLETED_MOST], key))
			return true;
	return false;
}

void agent_predispatch_start(struct agent_predispatch *p, const struct record_key *key)
{
	if (!p->unlimited && !agent_predispatch_runs(p, key))
		add_running(key, p);
}

bool agent_predispatch_record(struct agent_predispatch *p, const struct record_key *key, const struct fields *record)
{
	const char *kind = fields_get(record, "kind"), *again = fields_get(record, "again"),
		   *outcome = fields_get(record, "outcome"), *drain = fields_get(record, "drain");
	bool pauses = kind && (strcmp(kind, "suspended") == 0 || strcmp(kind, "resumed") == 0);
	bool is_done = kind && strcmp(kind, "done") == 0;
	/* A launch request refused because it was accepted before (again = 1) leaves its attempt running, unless that is gone. */
	bool runs_on = again && strcmp(again, "1") == 0 && !fields_get(record, "gone");
	bool ends = kind && (strcmp(kind, "end") == 0 || (strcmp(kind, "refused") == 0 && !runs_on));
	/* only records of pauses and ends change the list of running attempts */
	int i = pauses || ends || is_done ? find_running(p, key) : -1;
	if (i < 0)
		return false;
	if (is_done) {
		p->running[i].complete = outcome && strcmp(outcome, "complete") == 0;
		return false;
	}
	if (pauses) {
		p->running[i].suspended = *kind == 's';
		return false;
	}
	bool suspended = p->running[i].suspended;
	/* a suspended attempt has no CPUs to pass on when it ends; after one that drains the node, nothing may start there */
	if (p->running[i].complete && !suspended && *kind == 'e' && (!drain || !*drain))
		p->completed[p->completed_count++ % COMPLETED_MOST] = *key;
	p->running[i] = p->running[--p->count];
	return suspended;
}

static bool is_element(const struct agent_array *array, const struct record_key *key)
{
	return key->job_id == array->job_id && key->step_id >= array->first && key->step_id <= array->last;
}

static int count_running(const struct agent_predispatch *p, const struct agent_array *array)
{
	int running = 0;
	for (int i = 0; i < p->count; i++)
		running += is_element(array, &p->running[i].key);
	return running;
}

int agent_predispatch_free_slots(const struct agent_predispatch *p, const struct agent_array *array)
{
	if (p->unlimited)
		return INT_MAX;
	int running = count_running(p, array);
	return running < array->concurrency ? array->concurrency - running : 0;
}

void agent_predispatch_adopt(const struct agent_predispatch *p, struct agent_array *array)
{
	int running = array->last > 0 ? count_running(p, array) : 0;
	if (running > array->concurrency)
		array->concurrency = running;
}

void agent_predispatch_raise(struct agent_array *array, const struct record_key *key)
{
	if (array->concurrency > 0 && is_element(array, key))
		array->concurrency++;
}

void agent_predispatch_lower(struct agent_array *array, const struct record_key *key)
{
	if (array->concurrency > 0 && is_element(array, key))
		array->concurrency--;
}
