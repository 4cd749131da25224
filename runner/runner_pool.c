/* runner_pool.c - calls the function pools of burst_buffer.lua, and reports the returned pools to the database.
 *
 * Called by: runner.c at the start and the end of a term, and when a process ended.
 * Invariants:
 * - The function is called within a term only, one call at a time. A call of an old term is never reported.
 * - If a call fails or cannot be reported, the next call comes as usual. Until then the database keeps the pools as they are. */
#include <stdlib.h>

#include "lib/log.h"
#include "runner/runner_parts.h"

struct runner_pool {
	struct hook_set calls; /* at most one call of pools; hook->about is its struct staging_call */
	struct event *again;   /* timer of the next call */
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

	hook_set_open(&p->calls, &r->bound, 1);
	p->again = evtimer_new(r->base, pool_again, r);
	return p;
}

void runner_pool_free(struct runner_pool *p)
{
	hook_set_free(&p->calls);
	event_free(p->again);
	free(p);
}

void runner_pool_end(struct runner *r)
{
	event_del(r->pool->again);
	hook_set_end(&r->pool->calls, &r->dying);
}

static void pool_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	if (result)
		runner_staging_poll(arg, false); /* jobs that wait for space of a pool may go on */
	else
		runner_term_failed(arg, "could not report the pools of burst_buffer.lua to the database", e);
}

/* Report the call of pools that has ended, and free it. */
static void pool_report(struct runner *r)
{
	struct hook_set *calls = &r->pool->calls;
	const struct staging_call *call = calls->ended->about;
	bool good = call->rc == 0;
	const char *failure = call->message ? call->message : "it returned an error without a message";

	db_call(r->db, API_pool_report,
		(struct db_param[]){{r->term_text, -1}, {good ? call->answer : NULL, -1}, {good ? NULL : failure, -1}}, 3,
		pool_report_answered, r);
	hook_list_free(&calls->ended);
}

void runner_pool_poll(struct runner *r)
{
	struct runner_pool *p = r->pool;

	if (!*r->conf->hooks_burst_buffer || !r->ready || p->calls.running)
		return;
	event_add(p->again, &(struct timeval){.tv_sec = r->conf->hooks_pool_interval});
	hook_set_add(&p->calls, staging_call_start_pools(r)->hook);
	if (p->calls.ended)
		pool_report(r);
}

bool runner_pool_reap(struct runner *r, pid_t pid)
{
	struct runner_pool *p = r->pool;
	struct hook *h = hook_set_reap(&p->calls, pid);

	if (!h)
		return false;
	staging_call_finish(h->about);
	pool_report(r);
	if (!evtimer_pending(p->again, NULL))
		event_add(p->again, &(struct timeval){.tv_sec = r->conf->hooks_pool_interval});
	return true;
}
