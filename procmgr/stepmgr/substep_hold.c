/* substep_hold.c - the request `hold`, by which the job that `rota run` outside a job submits keeps its allocation until it is
 * unused.
 *
 * Called by: substep_request.c, and substep_client.c after each change.
 * Invariants: an allocation whose client never comes is given back after UNUSED_S. */
#include "procmgr/stepmgr/substep_hold.h"

#include <stdlib.h>

enum { UNUSED_S = 60 };

static struct {
	struct substep_engine *m;
	struct substep_connection *connection; /* connection of the client that sent `hold`; NULL: none did */
	json_int_t id;
	struct event *unused;
	bool is_over; /* UNUSED_S have passed */
	int clients;
} hold;

static bool is_idle(void)
{
	for (int number = 1; number <= substep_table_count(hold.m); number++) {
		const struct substep *s = substep_table_find(hold.m, number);
		if (s && !substep_has_ended(s))
			return false;
	}
	/* Before UNUSED_S have passed, the allocation is in use until the first sub-step was queued: a client that only asks for
	 * something may come and go before the client for which the allocation was made connects. */
	return (hold.is_over || substep_table_count(hold.m) > 0) && hold.clients <= 1;
}

/* Answer the request `hold` with the highest exit code and the first signal of all sub-steps. A sub-step that never ran counts as
 * failed. */
static void hold_answer(void)
{
	int code = 0, signal = 0;
	for (int number = 1; number <= substep_table_count(hold.m); number++) {
		const struct substep *s = substep_table_find(hold.m, number);
		bool bad = s && s->state != SUBSTEP_COMPLETED && s->state != SUBSTEP_SKIPPED;
		int own = s && (s->exit_code > 0 || !bad) ? s->exit_code : 1;
		code = s && own > code ? own : code;
		signal = s && signal == 0 ? s->signal : signal;
	}
	json_t *event = json_pack("{s:s, s:I, s:s, s:i, s:i}", "event", "answer", "id", hold.id, "state",
				  code || signal ? "failed" : "completed", "exit", code, "signal", signal);
	substep_connection_send(hold.connection, event);
	hold.connection = NULL;
}

void substep_hold_check(int clients)
{
	hold.clients = clients;
	if (hold.connection && is_idle())
		hold_answer();
}

static void unused(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	hold.is_over = true;
	substep_hold_check(hold.clients);
}

bool substep_hold_begin(struct substep_engine *m, struct substep_connection *c, json_int_t id)
{
	static const struct timeval after = {.tv_sec = UNUSED_S};
	if (hold.connection)
		return false;
	hold.m = m;
	hold.connection = c;
	hold.id = id;
	if (!hold.unused)
		hold.unused = evtimer_new(bufferevent_get_base(c->stream), unused, NULL);
	event_add(hold.unused, &after);
	return true;
}

void substep_hold_forget(const struct substep_connection *c)
{
	if (hold.connection == c)
		hold.connection = NULL;
}
