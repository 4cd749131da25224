/* gate_stale.c - has a standby server answer requests that only read, while no server can be written to.
 *
 * Called by: gate_dispatch.c for requests of routes with GATE_STALE.
 * Invariants:
 * - Only requests with stale_ok are answered that way. The answer says how old it is (api.stale_answer).
 * - The sessions with standby servers are opened for the first such request, and closed when a server can be written to again. */
#include "jobmgr/gate/gate_stale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is the member of a request true? A parameter of a URI's query is a string. */
static bool stale_is_true(const json_t *member)
{
	const char *text = json_string_value(member);

	return json_is_true(member) || (text && strcmp(text, "true") == 0);
}

void gate_stale_take(struct gate_call *c)
{
	struct gate_sessions *stale = c->credential->is_remote ? c->server->remote_stale_sessions : c->server->stale_sessions;
	bool agrees, serves = gate_sessions_serve(gate_call_sessions(c));

	if (!(c->route->flags & GATE_STALE) || !c->request)
		return;
	agrees = stale_is_true(json_object_get(c->request, "stale_ok"));
	json_object_del(c->request, "stale_ok");
	if (serves)
		gate_sessions_rest(stale);
	else if (agrees)
		gate_sessions_wake(stale);
	c->is_stale = agrees && !serves;
}

static void stale_send(struct gate_call *c)
{
	char uid[16], *text = json_dumps(c->request, JSON_COMPACT);

	if (!text)
		die("could not write a request as JSON");
	snprintf(uid, sizeof uid, "%u", (unsigned)c->credential->uid);
	gate_call_db(
		c, API_stale_answer,
		(struct db_param[]){{uid, -1}, {c->credential->user, -1}, {text, -1}, {db_function_name(c->route->function), -1}},
		4, gate_call_pass);
	free(text);
}

void gate_stale(struct gate_call *c)
{
	c->send = stale_send;
	stale_send(c);
}
