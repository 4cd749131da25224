/* substep_limit.c - when the tasks of a running sub-step are to end: its time limit, its wait for the last tasks, the grace time.
 *
 * Called by: substep_engine.c; the event loop when a limit is reached.
 * Invariants:
 * - A sub-step has at most one timer, for the next of its limits.
 * - Tasks that are to end get SIGTERM, and SIGKILL after the grace time. The reason is stored as the cause of the sub-step. */
#include "procmgr/stepmgr/substep_limit.h"

#include <signal.h>

#include "lib/clock.h"
#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_signal.h"

enum { GRACE_S = 5 };

void substep_limit_clear(struct substep *s)
{
	if (s->timer)
		event_free(s->timer);
	s->timer = NULL;
}

static void limit_reached(evutil_socket_t fd, short what, void *arg);

static void limit_arm(struct substep *s, int64_t seconds)
{
	struct timeval after = {.tv_sec = (time_t)seconds};
	substep_limit_clear(s);
	s->timer = evtimer_new(s->engine->base, limit_reached, s);
	evtimer_add(s->timer, &after);
}

/* Returns when the time limit of the sub-step's present run is reached (clock_boot_us), INT64_MAX if it has none. */
static int64_t limit_time_at(const struct substep *s)
{
	return s->spec->time_s > 0 ? s->started_at + s->spec->time_s * INT64_C(1000000) : INT64_MAX;
}

/* With --wait, the last tasks of a sub-step are ended some time after its first task has ended. Returns that time; INT64_MAX:
 * not known yet. */
static int64_t limit_wait_at(const struct substep *s)
{
	return s->first_end_at > 0 && s->spec->wait_s > 0 ? s->first_end_at + s->spec->wait_s * INT64_C(1000000) : INT64_MAX;
}

void substep_limit_set(struct substep *s)
{
	int64_t at = limit_time_at(s) < limit_wait_at(s) ? limit_time_at(s) : limit_wait_at(s), left = at - clock_boot_us();
	if (at < INT64_MAX)
		limit_arm(s, left > 0 ? (left + 999999) / 1000000 : 0);
}

void substep_limit_note_end(struct substep *s)
{
	if (s->first_end_at > 0 || s->spec->wait_s == 0 || *s->cause)
		return;
	s->first_end_at = clock_boot_us();
	substep_limit_set(s);
}

void substep_limit_end_tasks(struct substep *s, const char *cause)
{
	s->cause = cause;
	substep_signal_send(s->engine, s, SIGTERM);
	substep_signal_send(s->engine, s, SIGCONT);
	limit_arm(s, GRACE_S);
}

static void limit_reached(evutil_socket_t fd, short what, void *arg)
{
	struct substep *s = arg;
	(void)fd;
	(void)what;
	if (*s->cause)
		substep_signal_send(s->engine, s, SIGKILL);
	else
		substep_limit_end_tasks(s, limit_wait_at(s) < limit_time_at(s) ? "bad_exit" : "time_limit");
}

void substep_limit_end_idle(struct substep *s)
{
	if (!*s->cause)
		substep_limit_end_tasks(s, "idle_timeout");
}
