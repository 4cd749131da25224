/* runner_child.c - the processes of hooks: started, killed early, reaped.
 *
 * Called by: runner_poll.c for each row of api.hook_take; runner.c when a process ended.
 * Invariants:
 * - A hook is in one of the runner's lists from the row that named the hook until its end is in the database. */
#include <stdlib.h>
#include <string.h>

#include "runner/hook_environment.h"
#include "runner/runner_parts.h"

bool runner_child_reap(struct runner *r, pid_t pid)
{
	struct hook *h;

	if (hook_set_reap(&r->hooks, pid))
		return true;
	h = hook_list_reap(&r->dying, pid);
	hook_free(h);
	return h != NULL;
}

static void child_start(struct runner *r, struct hook *h, const PGresult *result, int row)
{
	char **environment = hook_environment(result, row, r->conf->instance_name);

	hook_start(h, r->base,
		   &(struct hook_start){.environment = environment, .input = -1, .timeout_s = r->conf->controller_hook_timeout});
	hook_environment_free(environment);
}

void runner_child_apply(struct runner *r, const PGresult *result, int row)
{
	static const char unwanted[] = "was not run or was killed: the attempt is to end";
	int64_t id = strtoll(db_text(result, row, "hook_id"), NULL, 10);
	bool prolog = strcmp(db_text(result, row, "hook"), "controller_prolog") == 0;
	bool wanted = *db_text(result, row, "wanted") == 't';
	struct hook *h = hook_set_find(&r->hooks, id);

	if (h) {
		if (!wanted && h->pid > 0)
			hook_kill(h, unwanted);
		return;
	}
	if (!*db_text(result, row, "label")) /* a row without a label is about a hook that was running but has ended since */
		return;
	h = hook_new(id, db_text(result, row, "label"), prolog ? r->conf->controller_prolog : r->conf->controller_epilog,
		     prolog ? "controller prolog" : "controller epilog");
	if (wanted)
		child_start(r, h, result, row);
	else
		hook_kill(h, unwanted);
	hook_set_add(&r->hooks, h);
}
