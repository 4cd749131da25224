/* keeper_dry.c - an attempt of a dry run: writes the records of a step that succeeds at once, but runs nothing.
 *
 * Called by: the launcher instead of a fork when launcher.dry_run is set, to measure all but the running of programs.
 * Invariants:
 * - Kinds, sequence and fields of the records are the same as a keeper's, since the same functions write the records.
 * - An attempt waits for `go` and `end` where a keeper waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "procmgr/keeper/keeper_parts.h"

struct keeper_dry {
	struct record_key key;
	struct journal *journal;
	int first_task, tasks; /* tasks that would run on this node */
	bool owns_prolog;      /* the attempt is the prolog owner: after its tasks, it waits for its job group */
	bool done;
};

static struct keeper make_keeper(const struct keeper_dry *d)
{
	return (struct keeper){.key = d->key, .records = keeper_record_new(d->journal, false), .figures = {-1, -1, 0}};
}

static bool end_attempt(struct keeper_dry *d, struct keeper *k)
{
	keeper_record_end(k);
	free(d);
	return true;
}

/* Write the records of the tasks, if there are tasks. Returns true if the attempt has ended. */
static bool run_tasks(struct keeper_dry *d, struct keeper *k)
{
	static const struct stats nothing;
	for (int i = 0; i < d->tasks; i++) {
		struct keeper_task task = {.rank = d->first_task + i, .started_at = clock_boot_us()};
		if (k->phase == KEEPER_PREPARING)
			keeper_record_run(k, 0, task.started_at);
		keeper_record_task(k, &task, 0, 0, "exit", &nothing);
	}
	if (d->tasks == 0)
		return false;
	keeper_record_done(k);
	d->done = true;
	return !d->owns_prolog && end_attempt(d, k);
}

struct keeper_dry *keeper_dry_start(const struct order *o, const struct record_key *key, struct journal *journal)
{
	struct keeper_dry *d = xmalloc(sizeof *d);
	*d = (struct keeper_dry){.key = *key, .journal = journal, .first_task = o->first_task};
	d->tasks = o->spec.per_task ? o->tasks : o->node_index == 0;
	d->owns_prolog = o->prolog && *o->spec.group;
	struct keeper k = make_keeper(d);
	keeper_record_keeper(&k, 0);
	if (o->wait_for_go)
		keeper_record_plain(&k, "ready");
	bool ended = !o->wait_for_go && run_tasks(d, &k);
	keeper_record_flush(&k);
	free(k.records);
	return ended ? NULL : d;
}

static bool handle_message(struct keeper_dry *d, struct keeper *k, const struct fields *message)
{
	const char *action = fields_get(message, "action"), *cause = fields_get(message, "cause");
	bool kill = strcmp(action, "kill") == 0;
	if (strcmp(action, "go") == 0)
		return !d->done && run_tasks(d, k);
	if (!kill && strcmp(action, "end") != 0)
		return false; /* an attempt of a dry run has no process to signal or suspend */
	if (!d->done) {
		snprintf(k->cause, sizeof k->cause, "%s",
			 kill && cause && *cause ? cause
			 : kill || d->tasks > 0	 ? "cancelled"
						 : "");
		keeper_record_done(k);
	}
	return end_attempt(d, k);
}

bool keeper_dry_control(struct keeper_dry *d, const struct fields *message)
{
	struct keeper k = make_keeper(d);
	bool ended = handle_message(d, &k, message);
	keeper_record_flush(&k);
	free(k.records);
	return ended;
}
