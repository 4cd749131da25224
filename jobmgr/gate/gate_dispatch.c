/* gate_dispatch.c - passes an HTTP request to its verb: finds the route, identifies the client, parses the request.
 *
 * Called by: gate.c for each request.
 * Invariants:
 * - Nothing here blocks.
 * - Only the credential identifies the client's user. By HTTPS, a certificate of the same user adds the user's rights. */
#include "jobmgr/gate/gate_dispatch.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_hook_status.h"
#include "jobmgr/gate/gate_relay.h"
#include "jobmgr/gate/gate_request.h"
#include "jobmgr/gate/gate_modify.h"
#include "jobmgr/gate/gate_grant.h"
#include "jobmgr/gate/gate_seen.h"
#include "jobmgr/gate/gate_stale.h"
#include "jobmgr/gate/gate_submit.h"
#include "jobmgr/gate/gate_token.h"
#include "jobmgr/gate/gate_wait.h"
#include "lib/unreachable.h"

enum { DISPATCH_LARGEST = 1024 * 1024 /* most bytes of a request that has no script */ };

/* Set whether a request by HTTPS has the rights of its user, by its certificate. If so, its queries use the sessions with these
 * rights. */
static void dispatch_certify(struct gate_call *c)
{
	struct bufferevent *buffer = evhttp_connection_get_bufferevent(evhttp_request_get_connection(c->http));

	c->objection = gate_admin_objection(c->server->admin, buffer, c->credential->user);
	c->is_certified = !c->objection;
}

static void dispatch_refuse_change(struct gate_call *c)
{
	struct err e;

	gate_refuse(&e, "RT403", "you may not do this to the cluster");
	gate_call_explain_rights(c, &e);
	gate_call_fail(c, &e, NULL);
}

static void dispatch_to_verb(struct gate_call *c)
{
	if (c->credential->is_remote)
		dispatch_certify(c);
	if (c->route->flags & GATE_ADMIN && c->objection) {
		dispatch_refuse_change(c);
	} else if (c->is_stale) {
		gate_stale(c);
	} else if (c->route->flags & GATE_SUBMIT) {
		gate_submit(c);
	} else if (c->route->flags & GATE_MODIFY) {
		gate_modify(c);
	} else if (c->route->flags & GATE_GRANT) {
		gate_grant(c);
	} else if (c->route->flags & GATE_TOKEN) {
		gate_token(c);
	} else if (c->route->flags & GATE_RELAY) {
		gate_relay(c);
	} else if (c->route->flags & GATE_WAIT) {
		gate_wait(c);
	} else if (gate_hook_status_is_asked(c)) {
		gate_hook_status(c);
	} else {
		gate_call_forward(c);
	}
}

/* Does a request submit jobs, or change credentials, which later jobs get? */
static bool dispatch_submits(const struct gate_call *c)
{
	static const char *const changes[] = {"add", "default", "refresh", "remove"};
	const char *action = json_string_value(json_object_get(c->request, "action"));

	if (c->route->flags & (GATE_SUBMIT | GATE_GRANT))
		return true;
	for (size_t i = 0; c->route->function == API_credential && action && i < sizeof changes / sizeof *changes; i++)
		if (strcmp(action, changes[i]) == 0)
			return true;
	return false;
}

static struct gate_admission dispatch_admission(const struct gate_call *c)
{
	return (struct gate_admission){.uid = c->credential->uid,
				       .user = c->credential->user,
				       .address = c->quota->name,
				       .submits = strcmp(c->server->conf->gate_node_submit, "off") == 0 && dispatch_submits(c)};
}

/* Handle the database's answer whether the client's user is served at the client's address. */
static void dispatch_admitted(struct gate_call *c, const char *text, const struct err *e)
{
	struct gate_admission admission = dispatch_admission(c);

	(void)text;
	if (e) {
		gate_call_fail(c, e, NULL);
		return;
	}
	gate_admission_remember(c->server->admissions, &admission);
	dispatch_to_verb(c);
}

static void dispatch_send_admission(struct gate_call *c)
{
	struct gate_admission admission = dispatch_admission(c);
	char uid[16];

	snprintf(uid, sizeof uid, "%u", (unsigned)admission.uid);
	gate_call_db(c, API_remote_admit,
		     (struct db_param[]){
			     {uid, -1}, {admission.user, -1}, {admission.address, -1}, {admission.submits ? "t" : "f", -1}},
		     4, dispatch_admitted);
}

/* Have the database check a request by HTTPS if it may come from a node: root of a node can make a munge credential of any
 * user. */
static void dispatch_admit(struct gate_call *c)
{
	struct gate_admission admission = dispatch_admission(c);

	if (!c->credential->is_remote || strcmp(c->server->conf->gate_node_submit, "any") == 0 ||
	    gate_admission_is_known(c->server->admissions, &admission)) {
		dispatch_to_verb(c);
		return;
	}
	c->send = dispatch_send_admission;
	dispatch_send_admission(c);
}

static void dispatch_identified(struct gate_credential *credential, const struct err *failure, void *arg)
{
	struct gate_call *c = arg;
	struct err e;

	c->credential = credential;
	if (!c->http) {
		gate_call_abandon(c);
		return;
	}
	if (failure || !gate_connection_prove(c->connection, credential->uid, &c->user, &e)) {
		gate_call_fail(c, failure ? failure : &e, NULL);
		return;
	}
	if (strcmp(credential->method, "GET") == 0)
		c->request = gate_request_parse_query(evhttp_uri_get_query(evhttp_request_get_evhttp_uri(c->http)), &e);
	else
		c->request = gate_request_parse_body(credential->body, credential->size, &e);
	free(credential->body);
	credential->body = NULL;
	gate_stale_take(c);
	if (!c->request || !gate_request_check_members(c->request, c->route->members, &e)) {
		gate_call_fail(c, &e, NULL);
	} else if (!c->is_stale && !gate_sessions_are_up(gate_call_sessions(c)) &&
		   (c->credential->is_remote || !(c->route->flags & GATE_WAIT))) {
		gate_refuse(&e, "08001", UNREACHABLE);
		err_hint(&e, "Nothing was done; jobmgrd keeps trying. " UNREACHABLE_NEXT);
		gate_call_fail(c, &e, NULL);
	} else if (gate_seen_differs(c)) {
		gate_seen_ask(c, dispatch_admit);
	} else {
		dispatch_admit(c);
	}
}

/* Returns the credential in the Authorization header, the text after "Munge ", or NULL if there is none. */
static const char *dispatch_find_credential(struct evhttp_request *http)
{
	const char *header = evhttp_find_header(evhttp_request_get_input_headers(http), "Authorization");

	return header && strncasecmp(header, "Munge ", 6) == 0 ? header + 6 : NULL;
}

static void dispatch_identify(struct gate_call *c, const char *method, const char *text)
{
	struct gate_credential *credential = xcalloc(1, sizeof *credential);
	struct evbuffer *body = evhttp_request_get_input_buffer(c->http);

	credential->is_remote = gate_connection_is_remote(c->connection);
	credential->peer = gate_connection_uid(c->connection);
	credential->text = xstrdup(text);
	credential->method = xstrdup(method);
	credential->target = xstrdup(evhttp_request_get_uri(c->http));
	credential->ask_groups = c->route->flags & (GATE_SUBMIT | GATE_MODIFY);
	credential->size = evbuffer_get_length(body);
	credential->body = xmalloc(credential->size + 1);
	evbuffer_remove(body, credential->body, credential->size);
	credential->body[credential->size] = '\0';
	gate_auth_check(c->server->auth, credential, dispatch_identified, c);
}

/* Returns the answer for a path that needs no credential, malloc'ed, or NULL for any other path. */
static char *dispatch_make_public_answer(const struct gate_server *server, const char *path)
{
	json_t *answer = NULL;
	char *text;

	if (strcmp(path, "/v1/ping") == 0)
		answer = json_pack("{s:b, s:s, s:b, s:b}", "ok", true, "version", ROTA_VERSION, "leader", server->leader,
				   "database", gate_sessions_are_up(server->sessions));
	else if (strcmp(path, "/v1/") == 0 || strcmp(path, "/v1") == 0)
		answer = gate_route_list();
	if (!answer)
		return NULL;
	text = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	return text;
}

static bool dispatch_find_route(struct gate_call *c, enum evhttp_cmd_type method, const char *path, struct err *e)
{
	struct gate_quota *quota;

	if (c->server->draining)
		return gate_refuse(e, "RT503", "the job manager is shutting down");
	c->route = gate_route_find(path, e);
	if (!c->route)
		return false;
	if (method == EVHTTP_REQ_GET && !(c->route->flags & GATE_READ))
		return gate_refuse(e, "RT405", "\"%s\" changes something: send POST with a JSON object", c->route->verb);
	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_POST)
		return gate_refuse(e, "RT405", "method not allowed: send GET, or POST with a JSON object");
	c->size = evbuffer_get_length(evhttp_request_get_input_buffer(c->http));
	if (!(c->route->flags & GATE_SUBMIT) && c->size > DISPATCH_LARGEST)
		return gate_refuse(e, "RT413", "the request for \"%s\" has more than %d bytes", c->route->verb, DISPATCH_LARGEST);
	quota = gate_connection_quota(c->connection);
	if (!quota)
		return gate_quota_refuse(e);
	if (!gate_quota_take(quota, c->size, e))
		return false;
	c->quota = quota;
	return true;
}

void gate_dispatch(struct gate_server *server, struct evhttp_request *http)
{
	struct gate_call *c = gate_call_new(server, http);
	enum evhttp_cmd_type method = evhttp_request_get_command(http);
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(http)), *credential = dispatch_find_credential(http);
	char *text = method == EVHTTP_REQ_GET && path ? dispatch_make_public_answer(server, path) : NULL;
	struct err e;

	if (text) {
		gate_call_reply(c, text);
	} else if (!dispatch_find_route(c, method, path ? path : "", &e)) {
		gate_call_fail(c, &e, NULL);
	} else if (!credential) {
		gate_refuse(&e, "RT401", "the request has no credential");
		err_hint(&e, "Send the header \"Authorization: Munge CREDENTIAL\"; docs/reporting.md shows how.");
		gate_call_fail(c, &e, NULL);
	} else {
		dispatch_identify(c, method == EVHTTP_REQ_GET ? "GET" : "POST", credential);
	}
	free(text);
}
