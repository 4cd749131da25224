/* keeper_mover.c - has rota-mover make the transfers of a step (docs/formats.md, "Transfers").
 *
 * Called by: keeper_task.c, for a step that is one transfer; keeper.c, where the nodes of a step transfer data before and after its tasks.
 * Invariants:
 * - rota-mover runs as the user, inside the step's cgroup. Root passes texts of the signed launch request on, and reads none of them. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arguments.h"
#include "lib/daemon.h"
#include "procmgr/keeper/keeper_parts.h"

/* The command line of rota-mover. */
struct keeper_mover {
	char *program, **argv;
	struct fields *transfers;
};

struct keeper_mover *keeper_mover_new(const struct keeper *k, const char *when, struct err *e)
{
	struct keeper_mover *m = xcalloc(1, sizeof *m);
	int count = 0, items;
	m->program = daemon_beside("rota-mover", e);
	m->transfers = arguments_parse(k->order->spec.transfers);
	items = fields_count(m->transfers);
	m->argv = xcalloc((size_t)items + 4, sizeof *m->argv);
	m->argv[count++] = m->program;
	m->argv[count++] = (char *)k->job->conf->path;
	m->argv[count++] = k->job->conf->staging_command;
	m->argv[count++] = (char *)when;
	for (int i = 1; i < items; i++)
		m->argv[count++] = (char *)fields_value(m->transfers, i);
	if (m->program)
		return m;
	keeper_mover_free(m);
	return NULL;
}

char *const *keeper_mover_argv(const struct keeper_mover *m)
{
	return m->argv;
}

void keeper_mover_free(struct keeper_mover *m)
{
	if (!m)
		return;
	fields_free(m->transfers);
	free(m->program);
	free(m->argv);
	free(m);
}

/* Does this node make transfers before and after the tasks of the step? */
static bool moves_here(const struct keeper *k)
{
	const struct order_spec *spec = &k->order->spec;
	struct fields *f = spec->transfers && strcmp(spec->shell, "mover") != 0 ? arguments_parse(spec->transfers) : NULL;
	bool here = f && fields_count(f) > 1;
	fields_free(f);
	return here;
}

/* Returns how many seconds transfers may take: the time limit of the tasks, but at least that of a hook; 0: no limit. A user's
 * ssh may start programs of the user, which must not occupy the node for ever. */
static int time_limit(const struct keeper *k)
{
	int64_t limit = k->order->time_limit_s;
	if (limit > 0 && limit < k->job->conf->node_hook_timeout)
		return k->job->conf->node_hook_timeout;
	return limit > INT_MAX ? INT_MAX : (int)limit;
}

static bool mover_run(struct keeper *k, const char *name, const char *when)
{
	struct err e;
	struct keeper_mover *m = keeper_mover_new(k, when, &e);
	bool good = m && keeper_hook_program(k, name, m->argv, time_limit(k));
	if (!m)
		snprintf(k->message, sizeof k->message, "%s: %.400s", name, e.message);
	keeper_mover_free(m);
	return good;
}

bool keeper_mover_before(struct keeper *k)
{
	return !moves_here(k) || mover_run(k, "stage_in", "before");
}

bool keeper_mover_after(struct keeper *k)
{
	bool well = k->exit_code == 0 && k->signal == 0 && !*k->cause && k->failure == KEEPER_FAILURE_NONE, good;
	if (!moves_here(k))
		return true;
	if (k->stage_out == KEEPER_STAGE_OUT_UNWANTED) {
		snprintf(k->message, sizeof k->message, "stage_out: it was cancelled");
		return false;
	}
	k->stage_out = KEEPER_STAGE_OUT_RUNS;
	good = mover_run(k, "stage_out", well ? "after" : "after-failure");
	k->stage_out = KEEPER_STAGE_OUT_NONE;
	return good;
}
