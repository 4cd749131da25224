/* agent_ahead.c - elements of arrays that were ordered before there are CPUs for them: how many more of them may begin.
 *
 * agent_order.c asks it, agent_report.c tells it what the journal says. Such an order names the steps of its array and how many of these
 * may run on the node at once: as many as had CPUs when it was committed. Whenever one ends, the database gives its CPUs to one that
 * stands ahead (sql/schedule/allocation.sql), so that number stays what it is; and here as many begin. What always holds: an attempt counts
 * as running from before it is handed to the launcher until its end, or its refusal, is in the journal, also over our own restart. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "procmgr/agent/agent_parts.h"

struct running {
	struct record_key key;
	bool suspended;
};

struct agent_ahead {
	struct running *running;
	int count, room;
};

static int find(const struct agent_ahead *ahead, const struct record_key *key)
{
	int i = ahead->count - 1;
	while (i >= 0 && !record_key_equal(&ahead->running[i].key, key))
		i--;
	return i;
}

static void add(const struct record_key *key, void *arg)
{
	struct agent_ahead *ahead = arg;
	if (ahead->count == ahead->room) {
		ahead->room = ahead->room ? 2 * ahead->room : 64;
		ahead->running = xrealloc(ahead->running, (unsigned long)ahead->room * sizeof *ahead->running);
	}
	ahead->running[ahead->count++] = (struct running){.key = *key};
}

/* What runs nothing of its own has no processors either: one launcher's virtual nodes begin all at once. */
static bool is_virtual(const struct agent *a)
{
	return a->conf->launcher_virtual > 0;
}

bool agent_ahead_has(const struct agent *a, const struct record_key *key)
{
	return find(a->ahead, key) >= 0;
}

void agent_ahead_began(struct agent *a, const struct record_key *key)
{
	if (!is_virtual(a) && !agent_ahead_has(a, key))
		add(key, a->ahead);
}

static bool is_among(const struct agent_order *o, const struct record_key *key)
{
	return key->job_id == o->key.job_id && key->step_id >= o->first && key->step_id <= o->last;
}

/* What ends suspended leaves no CPUs: they were given to somebody else. */
static void lose(struct agent *a, const struct record_key *key)
{
	for (int i = 0; i < a->order_count; i++)
		a->orders[i].behind -= a->orders[i].behind > 0 && is_among(&a->orders[i], key);
}

static void over(struct agent *a, int i)
{
	struct running gone = a->ahead->running[i];
	a->ahead->running[i] = a->ahead->running[--a->ahead->count];
	if (gone.suspended)
		lose(a, &gone.key);
}

void agent_ahead_record(struct agent *a, const struct record_key *key, const struct fields *record)
{
	const char *kind = fields_get(record, "kind"), *again = fields_get(record, "again");
	bool pauses = kind && (strcmp(kind, "suspended") == 0 || strcmp(kind, "resumed") == 0);
	/* Where an order is refused as used before, the attempt may run. */
	bool ends = kind && (strcmp(kind, "end") == 0 || (strcmp(kind, "refused") == 0 && !(again && strcmp(again, "1") == 0)));
	int i = pauses || ends ? find(a->ahead, key) : -1; /* of most records, nothing has to be looked for */
	if (i >= 0 && ends)
		over(a, i);
	else if (i >= 0)
		a->ahead->running[i].suspended = *kind == 's';
}

int agent_ahead_room(const struct agent *a, const struct agent_order *o)
{
	int running = 0;
	if (is_virtual(a))
		return o->start_count;
	for (int i = 0; i < a->ahead->count; i++)
		running += is_among(o, &a->ahead->running[i].key);
	return running < o->behind ? o->behind - running : 0;
}

bool agent_ahead_spool(void (*each)(const struct record_key *key, void *arg), void *arg)
{
	DIR *dir = opendir("spool");
	if (!dir) {
		log_error("could not read \"spool\": %m");
		return false;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct record_key key;
		if (record_key_parse(entry->d_name, &key))
			each(&key, arg);
	}
	closedir(dir);
	return true;
}

void agent_ahead_open(struct agent *a)
{
	a->ahead = xcalloc(1, sizeof *a->ahead);
	agent_ahead_spool(add, a->ahead);
}

void agent_ahead_close(struct agent *a)
{
	if (a->ahead)
		free(a->ahead->running);
	free(a->ahead);
}
