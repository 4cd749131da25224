/* runner_child.c - starts the processes of hooks, kills and reaps them.
 *
 * Called by: runner_poll.c for each row of api.hook_take; runner.c when a process ended.
 * Invariants:
 * - A hook is in one of the runner's lists from the moment when a row of api.hook_take named it until its end is in the database,
 *   or until the hook is stale. The database returns a stale hook again. */
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "runner/hook_environment.h"
#include "runner/runner_parts.h"

/* A hook does not start this many seconds after a hook's time limit, counted from the call of api.hook_take that named the hook: another
 * leader may run it by then. */
enum { CHILD_STALE = 8 };

bool runner_child_reap(struct runner *r, pid_t pid)
{
	struct hook *h;

	if (hook_set_reap(&r->hooks, pid))
		return true;
	h = hook_list_reap(&r->dying, pid);
	hook_free(h);
	return h != NULL;
}

/* Data of a waiting hook, with which it is started (hook->about). */
struct child_wait {
	char **environment;
	int64_t asked_us; /* when the api.hook_take was called that named the hook, in microseconds since boot */
};

/* Callback of hook_free() for a hook that still waits: frees hook->about. */
static void child_wait_free(void *about)
{
	struct child_wait *wait = about;

	hook_environment_free(wait->environment);
	free(wait);
}

static bool child_is_stale(const struct runner *r, const struct hook *h)
{
	const struct child_wait *wait = h->about;

	return clock_boot_us() - wait->asked_us >= (r->conf->controller_hook_timeout + CHILD_STALE) * 1000000LL;
}

void runner_child_start(struct runner *r)
{
	struct hook *h;

	while (hook_set_room(&r->hooks) > 0 && (h = hook_set_next(&r->hooks))) {
		const struct child_wait *wait = h->about;

		if (child_is_stale(r, h)) {
			hook_free(h);
			r->may_be_due = true;
			continue;
		}
		hook_start(h, r->base,
			   &(struct hook_start){
				   .environment = wait->environment, .input = -1, .timeout_s = r->conf->controller_hook_timeout});
		hook_set_add(&r->hooks, h);
	}
}

/* Kill a hook whose attempt is to end, or take it out of the waiting hooks. It counts as ended. */
static void child_stop(struct runner *r, struct hook *h)
{
	static const char unwanted[] = "was not run or was killed: the attempt is to end";

	if (h->pid > 0) {
		hook_kill(h, unwanted);
	} else if (hook_set_remove(&r->hooks, h)) {
		hook_kill(h, unwanted);
		hook_set_add(&r->hooks, h);
	}
}

/* Queue a new hook until it can start. */
static void child_wait(struct runner *r, struct hook *h, const PGresult *result, int row)
{
	struct child_wait *wait = xcalloc(1, sizeof *wait);

	wait->environment = hook_environment(result, row, r->conf->instance_name);
	wait->asked_us = r->polled_at_us;
	h->about = wait;
	h->about_free = child_wait_free;
	hook_set_wait(&r->hooks, h);
}

void runner_child_apply(struct runner *r, const PGresult *result, int row)
{
	int64_t id = strtoll(db_text(result, row, "hook_id"), NULL, 10);
	bool prolog = strcmp(db_text(result, row, "hook"), "controller_prolog") == 0;
	bool wanted = *db_text(result, row, "wanted") == 't';
	struct hook *h = hook_set_find(&r->hooks, id);

	if (h) {
		if (!wanted)
			child_stop(r, h);
		return;
	}
	if (!*db_text(result, row, "label")) /* a row without a label is about a hook that was running but has ended since */
		return;
	h = hook_new(id, db_text(result, row, "label"), prolog ? r->conf->controller_prolog : r->conf->controller_epilog,
		     prolog ? "controller prolog" : "controller epilog");
	child_wait(r, h, result, row);
	if (!wanted)
		child_stop(r, h);
}
