/* gate_intake.c - from an HTTP request to the verb's own way: what for, who asks, what is asked.
 *
 * gate.c hands over each request; gate_call.c does what follows. What always holds: nothing here blocks, and an identity comes from
 * the credential only. */
#include "jobmgr/gate/gate_intake.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_member.h"
#include "jobmgr/gate/gate_modify.h"
#include "jobmgr/gate/gate_submit.h"
#include "jobmgr/gate/gate_wait.h"

enum { INTAKE_LARGEST = 1024 * 1024 /* bytes of a request that carries no script */ };

/* The verb's own way, now that all is known. */
static void intake_dispatch(struct gate_call *c)
{
	if (c->route->flags & GATE_SUBMIT) {
		gate_submit(c);
	} else if (c->route->flags & GATE_MODIFY) {
		gate_modify(c);
	} else if (c->route->flags & GATE_WAIT) {
		gate_wait(c);
	} else {
		gate_call_forward(c);
	}
}

static void intake_identified(struct gate_claim *claim, const struct err *failure, void *arg)
{
	struct gate_call *c = arg;
	struct err e;

	c->claim = claim;
	if (!c->http) {
		gate_call_abandon(c);
		return;
	}
	if (failure) {
		gate_call_fail(c, failure, NULL);
		return;
	}
	if (strcmp(claim->method, "GET") == 0)
		c->request = gate_request_query(evhttp_uri_get_query(evhttp_request_get_evhttp_uri(c->http)), &e);
	else
		c->request = gate_request_body(claim->body, claim->size, &e);
	free(claim->body);
	claim->body = NULL;
	if (!c->request || !gate_members_known(c->request, c->route->members, &e)) {
		gate_call_fail(c, &e, NULL);
	} else if (!gate_lanes_up(c->gate->lanes) && !(c->route->flags & GATE_WAIT)) {
		gate_refuse(&e, "08001", "the job manager has no connection to the database");
		err_hint(&e, "It keeps trying; nothing was done, try again soon.");
		gate_call_fail(c, &e, NULL);
	} else {
		intake_dispatch(c);
	}
}

/* What the Authorization header holds behind "Munge ", or NULL. */
static const char *intake_credential(struct evhttp_request *http)
{
	const char *header = evhttp_find_header(evhttp_request_get_input_headers(http), "Authorization");

	return header && strncasecmp(header, "Munge ", 6) == 0 ? header + 6 : NULL;
}

static void intake_identify(struct gate_call *c, const char *method, const char *credential)
{
	struct gate_claim *claim = xcalloc(1, sizeof *claim);
	struct evbuffer *body = evhttp_request_get_input_buffer(c->http);

	claim->credential = xstrdup(credential);
	claim->method = xstrdup(method);
	claim->target = xstrdup(evhttp_request_get_uri(c->http));
	claim->ask_groups = c->route->flags & (GATE_SUBMIT | GATE_MODIFY);
	claim->size = evbuffer_get_length(body);
	claim->body = xmalloc(claim->size + 1);
	evbuffer_remove(body, claim->body, claim->size);
	claim->body[claim->size] = '\0';
	gate_auth_check(c->gate->auth, claim, intake_identified, c);
}

/* The two answers that need no credential; the text is malloc'ed, NULL for any other path. */
static char *intake_public(const struct gate_office *gate, const char *path)
{
	json_t *answer = NULL;
	char *text;

	if (strcmp(path, "/v1/ping") == 0)
		answer = json_pack("{s:b, s:s, s:b, s:b}", "ok", true, "version", ROTA_VERSION, "leader", gate->leader,
				   "database", gate_lanes_up(gate->lanes));
	else if (strcmp(path, "/v1/") == 0 || strcmp(path, "/v1") == 0)
		answer = gate_route_list();
	if (!answer)
		return NULL;
	text = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	return text;
}

static bool intake_route(struct gate_call *c, enum evhttp_cmd_type method, const char *path, struct err *e)
{
	if (c->gate->draining)
		return gate_refuse(e, "RT503", "the job manager is shutting down");
	c->route = gate_route_find(path, e);
	if (!c->route)
		return false;
	if (method == EVHTTP_REQ_GET && !(c->route->flags & GATE_READ))
		return gate_refuse(e, "RT405", "\"%s\" changes things, so it takes POST", c->route->verb);
	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_POST)
		return gate_refuse(e, "RT405", "verbs take GET, or POST with a JSON object");
	c->size = evbuffer_get_length(evhttp_request_get_input_buffer(c->http));
	if (!(c->route->flags & GATE_SUBMIT) && c->size > INTAKE_LARGEST)
		return gate_refuse(e, "RT413", "a request for \"%s\" has %d bytes at most", c->route->verb, INTAKE_LARGEST);
	c->holder = gate_holder_serve(c->gate->connections,
				      evhttp_connection_get_bufferevent(evhttp_request_get_connection(c->http)), c->size, e);
	return c->holder;
}

void gate_intake(struct gate_office *gate, struct evhttp_request *http)
{
	struct gate_call *c = gate_call_new(gate, http);
	enum evhttp_cmd_type method = evhttp_request_get_command(http);
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(http)), *credential = intake_credential(http);
	char *text = method == EVHTTP_REQ_GET && path ? intake_public(gate, path) : NULL;
	struct err e;

	if (text) {
		gate_call_reply(c, text);
	} else if (!intake_route(c, method, path ? path : "", &e)) {
		gate_call_fail(c, &e, NULL);
	} else if (!credential) {
		gate_refuse(&e, "RT401", "the request has no credential");
		err_hint(&e, "Send the header \"Authorization: Munge CREDENTIAL\"; docs/reporting.md shows how.");
		gate_call_fail(c, &e, NULL);
	} else {
		intake_identify(c, method == EVHTTP_REQ_GET ? "GET" : "POST", credential);
	}
	free(text);
}
