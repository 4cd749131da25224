/* gate_seen.c - refuses clients that have seen an incarnation of the database that this one lacks.
 *
 * Called by: gate_dispatch.c before a request is carried out.
 * Invariants:
 * - For a client that has seen the present incarnation, or none, there is no query.
 * - The incarnation that a client sends affects only its own request. */
#include "jobmgr/gate/gate_seen.h"

#include <stdio.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/db_seen.h"

bool gate_seen_differs(const struct gate_call *c)
{
	struct db_seen seen, here = db_seen_here();

	return gate_call_seen(c, &seen) && !db_seen_is_same(&seen, &here) &&
	       (c->is_stale || gate_sessions_are_up(gate_call_sessions(c)));
}

static void seen_answered(struct gate_call *c, const char *text, const struct err *e)
{
	struct db_seen seen = {0};
	struct err refusal;

	if (e) {
		gate_call_fail(c, e, NULL);
	} else if (*text == 't') {
		c->admitted(c);
	} else {
		gate_call_seen(c, &seen);
		gate_refuse(&refusal, "RT503",
			    "the database is an older copy: it lacks incarnation %d (timeline %lld), which has answered you",
			    seen.incarnation, (long long)seen.timeline);
		err_hint(&refusal,
			 "An administrator stops that server, or, if the newer one is lost, runs \"rota admin db accept\".");
		gate_call_fail(c, &refusal, NULL);
	}
}

static void seen_send(struct gate_call *c)
{
	struct db_seen seen = {0};
	char incarnation[16];

	gate_call_seen(c, &seen);
	snprintf(incarnation, sizeof incarnation, "%d", seen.incarnation);
	gate_call_db(c, API_client_admit, (struct db_param[]){{incarnation, -1}, {seen.began, -1}}, 2, seen_answered);
}

void gate_seen_ask(struct gate_call *c, void (*then)(struct gate_call *c))
{
	c->admitted = then;
	c->send = seen_send;
	seen_send(c);
}
