/* substep_recovery.c - takes over the sub-steps of a step manager that has died.
 *
 * Called by: stepmgr.c at its start.
 * Invariants:
 * - A process that the journal names by pid and start time is watched until it ends. The keeper, which reaps it, reports its end.
 * - A task that has no record `begin` has not executed its program, and is started. No child of the earlier step manager can
 *   still write such a record: each child locks the journal until it executes its program, and the journal is read after that. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "procmgr/stepmgr/substep_drain.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_orphans.h"
#include "procmgr/stepmgr/substep_part.h"
#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_peers.h"
#include "procmgr/stepmgr/substep_place.h"
#include "procmgr/stepmgr/substep_shrink.h"

enum { LOOK_USEC = 20000, LOST_USEC = 10000000, RETURN_S = 10 };

struct replay {
	struct substep_engine *m;
	json_t *envs; /* environments of the records `env`, by number - 1 */
};

static void replay_queue(struct replay *r, const json_t *record)
{
	struct err e;
	json_t *request = json_object_get(record, "request"),
	       *env = json_array_get(r->envs, (size_t)substep_journal_number(record, "env") - 1);
	const char *cwd = json_string_value(json_object_get(request, "cwd"));
	int number = (int)substep_journal_number(record, "substep");
	struct substep_spec *spec = request && env && cwd ? substep_spec_parse(request, env, cwd, &e) : NULL;
	if (!spec || number != r->m->count + 1) {
		substep_spec_free(spec);
		return;
	}
	struct substep_peer *peers;
	int count;
	bool any;
	/* resolve `after` before this sub-step is in the table: a name in it means an earlier sub-step */
	substep_peers_parse(r->m, spec->after, &peers, &count, &any, &e);
	struct substep *s = substep_table_add(r->m, spec, number);
	s->queued_at = substep_journal_number(record, "at");
	s->orphaned = !spec->detach;
	s->peers = peers;
	s->peer_count = count;
	s->any_peer = any;
	substep_table_wait(r->m, s);
}

static void replay_begin(struct substep *s, const json_t *record)
{
	int64_t rank = substep_journal_number(record, "task"), pid = substep_journal_number(record, "pid"),
		started = substep_journal_number(record, "started");
	if (rank < 0 || rank >= s->ntasks || s->tasks[rank].started != 0 || pid <= 0 || pid > INT_MAX || started <= 0)
		return;
	s->tasks[rank].pid = (pid_t)pid;
	s->tasks[rank].started = started;
	s->live++;
}

static void replay_task(struct substep *s, const json_t *record)
{
	int rank = (int)substep_journal_number(record, "task"), status = (int)substep_journal_number(record, "status");
	struct stats stats = substep_record_stats(record);
	if (rank < 0 || rank >= s->ntasks || s->tasks[rank].pid == 0)
		return;
	substep_table_add_end(s, &s->tasks[rank], status, &stats);
}

static void replay_again(struct substep *s)
{
	substep_place_give(s->engine, s);
	substep_table_leave(s->engine, s);
	substep_table_forget_output(s);
	s->live = s->exit_code = s->signal = s->tasks_failed = 0;
	substep_table_wait(s->engine, s);
}

static void replay_end(struct substep *s, const json_t *record)
{
	const char *state = json_string_value(json_object_get(record, "state"));
	substep_place_give(s->engine, s);
	substep_table_leave(s->engine, s);
	substep_table_forget_output(s);
	for (s->state = SUBSTEP_COMPLETED; s->state < SUBSTEP_DEPENDENCY_FAILED; s->state++)
		if (state && strcmp(substep_table_state(s), state) == 0)
			break;
	s->exit_code = (int)substep_journal_number(record, "exit");
	s->signal = (int)substep_journal_number(record, "signal");
	s->tasks_failed = (int)substep_journal_number(record, "tasks_failed");
	s->ended_at = substep_journal_number(record, "at");
	s->cause = s->signal ? "signal" : "exit";
	substep_spec_free(s->spec);
	s->spec = NULL;
	free(s->peers);
	s->peers = NULL;
}

/* Take the sub-step's share of this node's pool again, and add its parts. Their shares of other nodes are taken when agents
 * connect. */
static void replay_place(struct substep_engine *m, struct substep *s, const json_t *record)
{
	const json_t *part;
	size_t i;
	substep_pool_claim(m->pool, record, &s->share);
	s->ranks = substep_record_ranks(json_object_get(record, "ranks"), s->ntasks);
	json_array_foreach (json_object_get(record, "parts"), i, part) {
		json_int_t node = json_integer_value(json_object_get(part, "node"));
		struct substep_ranks ranks = substep_record_ranks(json_object_get(part, "ranks"), s->ntasks);
		if (node < 0 || node >= substep_nodes_count(m->nodes) || ranks.count == 0)
			continue;
		substep_part_add(s, (int)node, substep_nodes_name(m->nodes, (int)node), ranks, (struct substep_share){0});
	}
}

static void replay_record(json_t *record, const char *kind, void *arg)
{
	struct replay *r = arg;
	struct substep *s = substep_table_find(r->m, substep_journal_number(record, "substep"));
	if (strcmp(kind, "env") == 0)
		json_array_append(r->envs, json_object_get(record, "env"));
	else if (strcmp(kind, "queue") == 0)
		replay_queue(r, record);
	else if (strcmp(kind, "call") == 0)
		substep_nodes_replay(r->m->nodes, record);
	else if (strcmp(kind, "grow") == 0)
		substep_nodes_replay_grow(r->m->nodes, record);
	else if (strcmp(kind, "shrink") == 0)
		substep_shrink_replay(r->m, record);
	else if (strcmp(kind, "nodes") == 0)
		r->m->changes_read = substep_journal_number(record, "read");
	if (!s || substep_has_ended(s))
		return;
	if (strcmp(kind, "start") == 0 && s->state == SUBSTEP_WAITING) {
		substep_table_run(r->m, s);
		s->run = (int)substep_journal_number(record, "run");
		replay_place(r->m, s, record);
		s->started_at = substep_journal_number(record, "at");
		free(s->terminal);
		const char *terminal = json_string_value(json_object_get(record, "terminal"));
		s->terminal = terminal ? xstrdup(terminal) : NULL;
		substep_task_make(s);
	} else if (strcmp(kind, "begin") == 0 && s->state == SUBSTEP_RUNNING) {
		replay_begin(s, record);
	} else if (strcmp(kind, "task") == 0 && s->state == SUBSTEP_RUNNING) {
		replay_task(s, record);
	} else if (strcmp(kind, "again") == 0 && s->state == SUBSTEP_RUNNING) {
		replay_again(s);
	} else if (strcmp(kind, "end") == 0) {
		replay_end(s, record);
	}
}

static void watch_again(struct substep_task *t, int64_t usec)
{
	struct timeval after = {.tv_usec = (suseconds_t)usec};
	event_add(t->event, &after);
}

/* Called when a task that an earlier step manager started has ended. Waits until the keeper has reaped it. */
static void adopted_ended(evutil_socket_t fd, short what, void *arg)
{
	struct substep_task *t = arg;
	struct substep *s = t->substep;
	struct stats stats = {.rchar = -1, .wchar = -1, .read_bytes = -1, .write_bytes = -1};
	int status = 0;
	(void)what;
	if (t->adopted_end_at == 0)
		t->adopted_end_at = clock_boot_us();
	bool found = substep_orphans_find(s->engine->orphans, t->pid, t->started, &status, &stats);
	if (!found && clock_boot_us() - t->adopted_end_at < LOST_USEC) {
		if (fd >= 0)
			close(fd);
		event_assign(t->event, s->engine->base, -1, 0, adopted_ended, t);
		watch_again(t, LOOK_USEC);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (!found) {
		s->cause = "lost";
		status = 1 << 8;
	}
	if (s->live > 1)
		substep_record_task(s->engine, s, (int)(t - s->tasks), status, &stats);
	substep_engine_task_ended(s->engine, s, t, status, &stats);
}

/* Watch a task that an earlier step manager has started. */
static void adopt_task(struct substep_task *t)
{
	int fd = stats_start_time(t->pid) == t->started ? pidfd_open(t->pid, 0) : -1;
	if (fd >= 0)
		t->counts = stats_open(t->pid);
	t->event = event_new(t->substep->engine->base, fd, fd >= 0 ? EV_READ : 0, adopted_ended, t);
	if (fd >= 0)
		event_add(t->event, NULL);
	else
		watch_again(t, LOOK_USEC);
}

/* Take over the running tasks of a sub-step, and start the others. The input that its client has sent is lost, so the tasks read its end. */
static void adopt_substep(struct substep *s)
{
	s->input_ended = true;
	if (substep_input_is_of_client(s))
		s->input_lost = s->engine->node;
	for (int i = 0; i < s->ntasks; i++)
		if (s->tasks[i].pid > 0)
			adopt_task(&s->tasks[i]);
	substep_engine_start_tasks(s->engine, s);
}

/* Use files of a task from the store, also of a sub-step that has ended: its client may not have all of the output. */
static bool take_stored(const struct substep_stored *stored, const int fds[SUBSTEP_STORED_MOST], void *arg)
{
	struct substep *s = substep_table_find(arg, stored->number);
	bool used = s && s->run == stored->run && s->state != SUBSTEP_WAITING && stored->rank >= 0 && stored->rank < s->ntasks;
	if (!used) {
		for (int i = 0; i < SUBSTEP_STORED_MOST; i++)
			if (fds[i] >= 0)
				close(fds[i]);
		return false;
	}
	if (!s->tasks)
		substep_task_make(s);
	substep_drain_adopt(arg, &s->tasks[stored->rank], stored->files, fds);
	return true;
}

static void keep_ended(struct substep_engine *m)
{
	for (int number = 1; number <= m->count; number++) {
		struct substep *s = m->all[number - 1];
		if (s && substep_has_ended(s) && s->tasks) {
			for (int rank = 0; rank < s->ntasks; rank++)
				substep_drain_finish(&s->tasks[rank]);
			substep_table_keep_output(m, s);
		}
	}
}

/* Cancel the sub-steps whose clients have not come back. */
static void cancel_orphaned(evutil_socket_t fd, short what, void *arg)
{
	struct substep_engine *m = arg;
	(void)fd;
	(void)what;
	for (int number = 1; number <= m->count; number++) {
		struct substep *s = m->all[number - 1];
		if (s->orphaned && !substep_has_ended(s))
			substep_engine_cancel(m, s, "cancelled");
	}
}

void substep_recovery_run(struct substep_engine *m)
{
	static const struct timeval return_time = {.tv_sec = RETURN_S};
	struct replay r = {m, json_array()};
	struct substep *s, *next;
	substep_journal_read(m->journal, replay_record, &r);
	m->env_number = (int)json_array_size(r.envs);
	json_decref(r.envs);
	substep_nodes_recover(m->nodes);
	substep_store_take(take_stored, m);
	keep_ended(m);
	substep_engine_ends(m);
	for (s = TAILQ_FIRST(&m->running); s; s = next) {
		next = TAILQ_NEXT(s, next);
		adopt_substep(s);
	}
	if (m->count > 0)
		event_base_once(m->base, -1, EV_TIMEOUT, cancel_orphaned, m, &return_time);
}
