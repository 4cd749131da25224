/* substep_engine.c - the life of sub-steps: queue, start, end.
 *
 * Called by: substep_client.c for each request; the event loop for ended children and timers.
 * Invariants:
 * - The record `start` is in the journal before a process starts, the record `begin` of a task before its process executes the
 *   program, and the record of its end before the process is reaped. So a step manager that is killed at any instant runs nothing
 *   twice, and loses no task and no end.
 * - Nothing is queued or started unless the disk has room for the records of all sub-steps that wait or run. So a full disk loses
 *   no end.
 * - A sub-step that is ready but does not fit delays sub-steps of lower priority, not those of the same priority. */
#include "procmgr/stepmgr/substep_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "procmgr/stepmgr/substep_changes.h"
#include "procmgr/stepmgr/substep_drain.h"
#include "procmgr/stepmgr/substep_far.h"
#include "procmgr/stepmgr/substep_growth.h"
#include "procmgr/stepmgr/substep_limit.h"
#include "procmgr/stepmgr/substep_nodelist.h"
#include "procmgr/stepmgr/substep_orphans.h"
#include "procmgr/stepmgr/substep_part.h"
#include "procmgr/stepmgr/substep_peers.h"
#include "procmgr/stepmgr/substep_place.h"
#include "procmgr/stepmgr/substep_process.h"
#include "procmgr/stepmgr/substep_remote.h"
#include "procmgr/stepmgr/substep_replace.h"
#include "procmgr/stepmgr/substep_session.h"
#include "procmgr/stepmgr/substep_signal.h"
#include "procmgr/stepmgr/substep_usage.h"

enum { ROOM_S = 1 };

static const char ALLOCATION_ENDED[] = "allocation_ended";

json_t *substep_engine_resources(const struct substep_engine *m)
{
	json_t *nodes = substep_pool_json(m->pool, m->node);
	substep_nodes_describe(m->nodes, nodes);
	substep_event_describe(m, nodes);
	return nodes;
}

static void schedule_later(struct substep_engine *m)
{
	event_active(m->schedule, EV_TIMEOUT, 0);
}

/* The only function that ends a sub-step. */
static void end_substep(struct substep_engine *m, struct substep *s, enum substep_state state, const char *cause)
{
	substep_table_leave(m, s);
	s->state = state;
	s->cause = cause;
	s->ended_at = clock_boot_us();
	substep_session_end(s);
	substep_record_end(m, s);
	substep_limit_clear(s);
	substep_place_give(m, s);
	if (s->early)
		evbuffer_free(s->early);
	s->early = NULL;
	m->handlers->ended(s);
	m->handlers->drained(); /* clients may send again: the tasks of this sub-step read no more input */
	substep_table_keep_output(m, s);
	substep_spec_free(s->spec);
	s->spec = NULL;
	free(s->peers);
	s->peers = NULL;
	free(s->terminal);
	s->terminal = NULL;
	schedule_later(m);
}

/* Queue a failed sub-step again. Adds the usage of its last run to the sum of the sub-step. */
static void retry_substep(struct substep_engine *m, struct substep *s)
{
	m->handlers->output(s); /* pass on the output of the run that has failed */
	m->handlers->drained();
	substep_table_leave(m, s);
	substep_session_end(s);
	substep_record_again(m, s);
	substep_limit_clear(s);
	substep_place_give(m, s);
	substep_table_forget_output(s);
	s->exit_code = s->signal = s->tasks_failed = 0;
	s->first_end_at = 0;
	*s->message = '\0';
	substep_table_wait(m, s);
}

bool substep_engine_ends(struct substep_engine *m)
{
	struct substep *s;
	if (m->ends || !substep_orphans_ends(m->orphans))
		return m->ends;
	m->ends = true;
	TAILQ_FOREACH (s, &m->running, next)
		if (!*s->cause)
			s->cause = ALLOCATION_ENDED;
	schedule_later(m);
	return true;
}

void substep_engine_call(struct substep_engine *m)
{
	if (substep_orphans_calls(m->orphans))
		substep_nodes_call(m->nodes);
	if (substep_orphans_listens(m->orphans))
		substep_remote_listen(m);
}

/* At SIGTERM, read the keeper's files: they may say that the keeper ends the step, that agents or a port are wanted, or that a
 * node has come, gone or changed. A SIGTERM from somebody else is meant for the tasks, and ends nothing here. */
static void handle_term(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	substep_engine_ends(arg);
	substep_engine_call(arg);
	substep_growth_read(arg);
	substep_changes_read(arg);
}

void substep_engine_run_ended(struct substep_engine *m, struct substep *s)
{
	bool failed = s->exit_code || s->signal || *s->message || strcmp(s->cause, "lost") == 0;
	if (strcmp(s->cause, "cancelled") == 0 || strcmp(s->cause, ALLOCATION_ENDED) == 0)
		end_substep(m, s, SUBSTEP_CANCELLED, s->cause);
	else if (failed && s->run <= s->spec->retry && strcmp(s->cause, "idle_timeout") != 0)
		retry_substep(m, s);
	else if (strcmp(s->cause, "time_limit") == 0 || strcmp(s->cause, "idle_timeout") == 0)
		end_substep(m, s, SUBSTEP_TIMEOUT, s->cause);
	else
		end_substep(m, s, failed ? SUBSTEP_FAILED : SUBSTEP_COMPLETED,
			    *s->cause	? s->cause
			    : s->signal ? "signal"
					: "exit");
}

void substep_engine_task_ended(struct substep_engine *m, struct substep *s, struct substep_task *t, int status,
			       const struct stats *stats)
{
	substep_table_add_end(s, t, status, stats);
	substep_input_close(t);
	substep_drain_finish(t);
	substep_input_moved(s);
	if (status != 0)
		substep_engine_ends(m); /* the signal that ends the step may reach a task before the step manager */
	if (s->live == 0)
		substep_engine_run_ended(m, s);
	else if (status != 0 && s->spec->kill_on_bad_exit && !*s->cause)
		substep_limit_end_tasks(s, "bad_exit");
	else
		substep_limit_note_end(s);
}

/* Called when a part of a running sub-step is lost with its node: the sub-step ends, and may run again elsewhere. */
static void part_lost(struct substep *s, struct substep_part *part)
{
	struct substep_engine *m = s->engine;
	substep_far_lose(s);
	part->has_ended = true;
	s->live -= part->ranks.count;
	s->tasks_failed += part->ranks.count;
	if (substep_nodes_pool(m->nodes, part->node))
		substep_pool_give(substep_nodes_pool(m->nodes, part->node), &part->share);
	if (s->live > 0 && !*s->cause)
		substep_limit_end_tasks(s, "lost");
	else if (!*s->cause)
		s->cause = "lost";
	if (s->live == 0)
		substep_engine_run_ended(m, s);
	schedule_later(m);
}

/* Does the event say that a part ended because its node leaves the step? Such a part is lost. */
static bool is_lost(const struct substep_engine *m, const struct substep_part *part, const char *name, const json_t *event)
{
	const char *cause = json_string_value(json_object_get(event, "cause"));
	bool may_leave = substep_nodes_growth(m->nodes, part->node) || !substep_nodes_is_here(m->nodes, part->node);
	return may_leave && strcmp(name, "ended") == 0 && cause && strcmp(cause, ALLOCATION_ENDED) == 0;
}

/* Handle an event that an agent has sent about a part of a running sub-step. */
static void part_event(struct substep *s, struct substep_part *part, const char *name, const json_t *event, const void *bytes,
		       size_t size)
{
	struct substep_engine *m = s->engine;
	bool failed;
	if (is_lost(m, part, name, event)) {
		substep_growth_ends(m, part->node);
		part_lost(s, part);
		return;
	}
	bool has_ended = substep_part_take(s, part, name, event, bytes, size, &failed);
	if (has_ended || strcmp(name, "input") == 0)
		substep_input_moved(s);
	if (!has_ended)
		return;
	substep_pool_give(substep_nodes_pool(m->nodes, part->node), &part->share);
	if (s->live == 0)
		substep_engine_run_ended(m, s);
	else if (failed && s->spec->kill_on_bad_exit && !*s->cause)
		substep_limit_end_tasks(s, "bad_exit");
	else
		substep_limit_note_end(s);
	schedule_later(m);
}

void substep_engine_lose_parts(struct substep_engine *m)
{
	struct substep *s, *next;
	for (int node = 0; node < substep_nodes_count(m->nodes); node++) {
		if (substep_event_use(m, substep_nodes_name(m->nodes, node)) != SUBSTEP_NODE_GONE)
			continue;
		substep_nodes_disconnect(m->nodes, node);
		for (s = TAILQ_FIRST(&m->running); s; s = next) {
			struct substep_part *part = substep_part_on(s, node);
			next = TAILQ_NEXT(s, next);
			if (part && !part->has_ended)
				part_lost(s, part);
		}
	}
}

static const struct substep_nodes_handlers nodes_handlers = {schedule_later, part_event, part_lost, substep_usage_take};

/* Reap children. A child is peeked at first: its end is in the journal before the kernel forgets it. */
static void reap_children(evutil_socket_t fd, short what, void *arg)
{
	struct substep_engine *m = arg;
	struct stats stats;
	int status;
	(void)fd;
	(void)what;
	for (pid_t pid; (pid = stats_ended_child()) > 0;) {
		struct substep *s;
		struct substep_task *t = substep_table_find_task(m, pid, &s);
		kill(-pid, SIGKILL); /* kill the processes that a task has left in its process group */
		if (!stats_peek(pid, t ? t->counts : -1, &status, &stats))
			die("could not read the end of process %ld", (long)pid);
		crash_point(CRASH_substep_ended);
		if (t && s->live > 1)
			substep_record_task(m, s, (int)(t - s->tasks), status, &stats);
		if (t)
			substep_engine_task_ended(m, s, t, status, &stats);
		crash_point(CRASH_substep_recorded);
		waitpid(pid, NULL, 0);
	}
}

/* Have the agents of other nodes start their parts of the sub-step. */
static void start_parts(struct substep_engine *m, struct substep *s)
{
	for (int i = 0; i < s->part_count; i++) {
		if (s->parts[i].has_ended)
			continue;
		s->live += s->parts[i].ranks.count;
		substep_nodes_start(m->nodes, s, &s->parts[i]);
	}
}

void substep_engine_start_tasks(struct substep_engine *m, struct substep *s)
{
	struct err e = {.message = ""};
	bool good = true;
	substep_nodelist_update(m->nodes, s->spec);
	for (int i = 0; good && !m->ends && i < s->ranks.count; i++) {
		int rank = substep_ranks_at(&s->ranks, i);
		good = s->tasks[rank].started != 0 || substep_task_start(m, s, rank, &e);
	}
	if (good) {
		start_parts(m, s);
	} else {
		snprintf(s->message, sizeof s->message, "%s", e.message);
		s->cause = "launch";
		s->exit_code = 127;
		s->tasks_failed = s->ntasks - s->live;
	}
	if (good && s->terminal && s->spec->part.number == 0) /* the step manager keeps the session of a part */
		substep_session_begin(s, substep_limit_end_idle);
	m->handlers->started(s);
	if (s->live == 0) {
		substep_engine_run_ended(m, s);
		return;
	}
	if (good)
		substep_limit_set(s);
	else
		substep_limit_end_tasks(s, "launch");
	substep_input_begin(s);
}

/* Run a sub-step for which resources have been taken. */
static void start_substep(struct substep_engine *m, struct substep *s)
{
	substep_table_run(m, s);
	s->run++;
	s->cause = s->reason = "";
	s->started_at = clock_boot_us();
	substep_session_choose_terminal(s);
	substep_record_start(m, s);
	crash_point(CRASH_substep_started);
	substep_task_make(s);
	substep_engine_start_tasks(m, s);
}

/* Start a sub-step whose dependencies are met, or end it if it can never start. If the sub-step waits, returns false with
 * *reason. */
static bool start_ready(struct substep_engine *m, struct substep *s, const char **reason)
{
	struct err e;
	if (substep_place_take(m, s, reason)) {
		start_substep(m, s);
		return true;
	}
	if (!substep_place_is_never(m, s, &e))
		return false;
	snprintf(s->message, sizeof s->message, "%s", e.message);
	s->exit_code = 1;
	end_substep(m, s, SUBSTEP_FAILED, "launch");
	return true;
}

/* Returns true if the disk has room for the records of all sub-steps, and of a new one with this spec (NULL: no new one). If not,
 * sets a timer that retries what waits for disk space. */
static bool find_room(struct substep_engine *m, const struct substep_spec *spec, struct err *e)
{
	static const struct timeval after = {.tv_sec = ROOM_S};
	if (substep_record_has_room(m, spec, e))
		return true;
	event_add(m->room, &after);
	return false;
}

/* Retry requests that wait for disk space: the kernel gives no event for it. */
static void room_again(evutil_socket_t fd, short what, void *arg)
{
	struct substep_engine *m = arg;
	(void)fd;
	(void)what;
	m->handlers->drained();
	substep_engine_replace_failed(m);
	schedule_later(m);
}

/* Start all sub-steps that can start, in the order of the queue. */
static void run_queue(evutil_socket_t fd, short what, void *arg)
{
	struct substep_engine *m = arg;
	struct err e;
	struct substep *s, *next;
	int blocked = INT_MIN; /* highest priority of a sub-step that is ready but does not fit */
	(void)fd;
	(void)what;
	while (substep_engine_ends(m) && (s = TAILQ_FIRST(&m->waiting)))
		end_substep(m, s, SUBSTEP_CANCELLED, ALLOCATION_ENDED);
	bool has_room = TAILQ_EMPTY(&m->waiting) || find_room(m, NULL, &e);
	for (s = TAILQ_FIRST(&m->waiting); s && s->spec->priority >= blocked; s = next) {
		const char *reason = has_room ? "" : "disk";
		next = TAILQ_NEXT(s, next);
		enum substep_peers_state peers = substep_peers_state(m, s);
		if (peers == SUBSTEP_PEERS_NEVER || peers == SUBSTEP_PEERS_NOT_NEEDED) {
			bool never = peers == SUBSTEP_PEERS_NEVER;
			end_substep(m, s, never ? SUBSTEP_DEPENDENCY_FAILED : SUBSTEP_SKIPPED, "dependency");
			continue;
		}
		if (peers == SUBSTEP_PEERS_MET && has_room && start_ready(m, s, &reason))
			continue;
		if (peers == SUBSTEP_PEERS_MET)
			blocked = s->spec->priority;
		else
			reason = "dependency";
		if (strcmp(s->reason, reason) != 0) {
			s->reason = reason;
			m->handlers->waits(s);
		}
	}
}

struct substep *substep_engine_queue(struct substep_engine *m, struct substep_spec *spec, struct err *e)
{
	json_t *known = *spec->key ? json_object_get(m->keys, spec->key) : NULL;
	struct substep_peer *peers = NULL;
	int count = 0;
	bool any = false;
	if (known || !substep_place_can(m, spec, e) || !find_room(m, spec, e) ||
	    !substep_peers_parse(m, spec->after, &peers, &count, &any, e)) {
		substep_spec_free(spec);
		struct substep *s = substep_table_find(m, json_integer_value(known));
		if (s)
			s->orphaned = false;
		return s;
	}
	struct substep *s = substep_table_add(m, spec, m->count + 1);
	s->peers = peers;
	s->peer_count = count;
	s->any_peer = any;
	substep_record_queue(m, s);
	crash_point(CRASH_substep_queued);
	substep_table_wait(m, s);
	return s;
}

void substep_engine_replace_failed(struct substep_engine *m)
{
	struct err e;
	const char *node;
	for (int i = 0; !substep_engine_ends(m) && (node = substep_event_failed(m, i)); i++) {
		struct substep_spec *spec = substep_replace_spec(m, node);
		if (spec)
			substep_engine_queue(m, spec, &e);
	}
}

/* Called when the state of a node has changed: signals the sub-steps that want it (`notify`), ends what ran on a lost node, and
 * has the queue looked at. */
static void node_changed(struct substep_engine *m)
{
	struct substep *s;
	TAILQ_FOREACH (s, &m->running, next)
		if (s->spec->notify > 0)
			substep_signal_send(m, s, s->spec->notify);
	TAILQ_FOREACH (s, &m->waiting, next)
		s->fits = false;
	substep_engine_lose_parts(m);
	substep_engine_replace_failed(m);
	schedule_later(m);
}

void substep_engine_cancel(struct substep_engine *m, struct substep *s, const char *cause)
{
	bool ends = substep_engine_ends(m); /* the whole step ends: the keeper kills the tasks after its own grace time */
	if (s->state == SUBSTEP_WAITING)
		end_substep(m, s, SUBSTEP_CANCELLED, ends ? ALLOCATION_ENDED : cause);
	else if (s->state == SUBSTEP_RUNNING && !ends && strcmp(s->cause, cause) != 0)
		substep_limit_end_tasks(s, cause);
}

/* Read from the step's environment which resources the allocation has on this node. */
static struct substep_pool *open_pool(void)
{
	const char *cpus = getenv("ROTA_CPUS"), *mem = getenv("ROTA_MEM_MB"), *gres = getenv("ROTA_GRES");
	return substep_pool_new(cpus ? atoi(cpus) : 1, mem ? atoll(mem) : 0, gres ? gres : "");
}

struct substep_engine *substep_engine_new(struct event_base *base, int journal, int orphans,
					  const struct substep_handlers *handlers)
{
	struct substep_engine *m = xcalloc(1, sizeof *m);
	m->base = base;
	m->handlers = handlers;
	m->journal = journal;
	m->orphans = orphans;
	m->growths = -1;
	m->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	m->pool = open_pool();
	m->node = getenv("ROTA_NODE");
	if (!m->node)
		die("ROTA_NODE is not set");
	m->changes = -1;
	m->events = substep_events_new(node_changed);
	m->usage = substep_usage_new(m);
	m->nodes = substep_nodes_new(m, base, &nodes_handlers);
	m->send = substep_nodes_send;
	substep_event_node(m, m->node, "up", "");
	for (int i = 0; i < substep_nodes_count(m->nodes); i++)
		substep_event_node(m, substep_nodes_name(m->nodes, i), "up", "");
	m->keys = json_object();
	TAILQ_INIT(&m->waiting);
	TAILQ_INIT(&m->running);
	m->schedule = event_new(base, -1, 0, run_queue, m);
	m->room = event_new(base, -1, 0, room_again, m);
	m->children = evsignal_new(base, SIGCHLD, reap_children, m);
	evsignal_add(m->children, NULL);
	m->term = evsignal_new(base, SIGTERM, handle_term, m);
	evsignal_add(m->term, NULL);
	substep_process_open(); /* must come last: remembers which signals this process handles, to reset them in tasks */
	return m;
}
