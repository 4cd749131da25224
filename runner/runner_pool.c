/* runner_pool.c - calls the function pools of burst_buffer.lua, and reports what it answers to the database.
 *
 * Called by: runner.c at the start and the end of a term, and when a process ended.
 * Invariants:
 * - It is called within a term only, once at a time. What an old term called is never reported.
 * - A call that fails or cannot be reported is followed by the next one. The pools stay as they were until then. */
#include <stdlib.h>

#include "lib/log.h"
#include "runner/runner_parts.h"

struct runner_pool {
	struct staging_call *running;
	struct staging_call *dying; /* calls of old terms that are killed but not reaped yet */
	struct event *again;	    /* the next call is due */
};

static void pool_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	runner_pool_poll(arg);
}

struct runner_pool *runner_pool_new(struct runner *r)
{
	struct runner_pool *p = xcalloc(1, sizeof *p);

	p->again = evtimer_new(r->base, pool_again, r);
	return p;
}

void runner_pool_free(struct runner_pool *p)
{
	for (struct staging_call *call; (call = p->dying);) {
		p->dying = call->next;
		staging_call_free(call);
	}
	if (p->running)
		staging_call_free(p->running);
	event_free(p->again);
	free(p);
}

void runner_pool_end(struct runner *r)
{
	struct runner_pool *p = r->pool;

	event_del(p->again);
	if (!p->running)
		return;
	hook_kill(p->running->hook, "was killed because its runnerd lost the leadership");
	p->running->next = p->dying;
	p->dying = p->running;
	p->running = NULL;
}

static void pool_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	if (result)
		runner_staging_poll(arg, false); /* there may be space for jobs that wait */
	else
		runner_term_failed(arg, "could not report the pools of burst_buffer.lua to the database", e);
}

static void pool_report(struct runner *r, const struct staging_call *call)
{
	bool good = call->rc == 0;
	const char *failure = call->message ? call->message : "it returned an error without a message";

	db_call(r->db, API_pool_report,
		(struct db_param[]){{r->term_text, -1}, {good ? call->answer : NULL, -1}, {good ? NULL : failure, -1}}, 3,
		pool_report_answered, r);
}

void runner_pool_poll(struct runner *r)
{
	struct runner_pool *p = r->pool;
	struct staging_call *call;

	if (!*r->conf->hooks_burst_buffer || !r->ready || p->running)
		return;
	event_add(p->again, &(struct timeval){.tv_sec = r->conf->hooks_pool_interval});
	call = staging_call_start_pools(r);
	if (call->hook->pid) {
		p->running = call;
		return;
	}
	pool_report(r, call);
	staging_call_free(call);
}

bool runner_pool_reap(struct runner *r, pid_t pid)
{
	struct runner_pool *p = r->pool;
	struct staging_call **link = &p->dying, *call = p->running;

	if (call && call->hook->pid == pid) {
		p->running = NULL;
		hook_reap(call->hook);
		staging_call_finish(call);
		pool_report(r, call);
		staging_call_free(call);
		if (!evtimer_pending(p->again, NULL))
			event_add(p->again, &(struct timeval){.tv_sec = r->conf->hooks_pool_interval});
		return true;
	}
	while (*link && (*link)->hook->pid != pid)
		link = &(*link)->next;
	call = *link;
	if (!call)
		return false;
	*link = call->next;
	hook_reap(call->hook);
	staging_call_free(call);
	return true;
}
