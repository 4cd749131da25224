/* gate_call.c - the life of one request, from its first query to its answer and its end.
 *
 * Called by: gate_dispatch.c, which makes a struct gate_call for each request; the verbs gate_submit.c, gate_modify.c and
 * gate_wait.c.
 * Invariants:
 * - Nothing here blocks.
 * - Each request is answered at most once. */
#include "jobmgr/gate/gate_call.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/log.h"
#include "lib/unreachable.h"

enum { CALL_TIMEOUT = 60, CALL_RETRIES = 3, ANSWER_LARGEST = 64 << 20 };

static void call_free(struct gate_call *c)
{
	TAILQ_REMOVE(&c->server->calls, c, link);
	if (c->verb)
		c->verb->free(c);
	event_free(c->timer);
	free(c->question);
	gate_credential_free(c->credential);
	if (c->quota)
		gate_quota_release(c->quota, c->size);
	if (c->user)
		gate_quota_release(c->user, 0);
	json_decref(c->request);
	free(c);
}

bool gate_call_seen(const struct gate_call *c, struct db_seen *seen)
{
	const char *header = evhttp_find_header(evhttp_request_get_input_headers(c->http), "Rota-Seen");

	return header && db_seen_parse(header, seen);
}

/* Add the incarnation of the database to the answer, unless the client sent the same one. Incarnation 1 is never sent. */
static void call_send_incarnation(const struct gate_call *c)
{
	struct db_seen seen = {0}, here = db_seen_here();
	char text[DB_SEEN_SIZE];

	if (here.incarnation < 2 || (gate_call_seen(c, &seen) && db_seen_is_same(&seen, &here)))
		return;
	db_seen_text(&here, text);
	evhttp_add_header(evhttp_request_get_output_headers(c->http), "Rota-Incarnation", text);
}

/* Record that the client of a request has its answer, or is gone, and report this to the verb. */
static void call_lose_client(struct gate_call *c)
{
	c->http = NULL;
	if (c->verb && c->verb->lose_client)
		c->verb->lose_client(c);
}

/* Send the answer of a request. The request has no client from now on. */
static void call_answer(struct gate_call *c, int status, const char *text)
{
	struct evhttp_request *http = c->http;
	struct evkeyvalq *headers;
	struct evbuffer *body;

	if (!http)
		return;
	if (status == 200)
		call_send_incarnation(c);
	call_lose_client(c);
	headers = evhttp_request_get_output_headers(http);
	body = evhttp_request_get_output_buffer(http);
	evhttp_add_header(headers, "Content-Type", "application/json");
	evhttp_add_header(headers, "Cache-Control", "no-store");
	if (status == 401)
		evhttp_add_header(headers, "WWW-Authenticate", "Munge");
	if (status == 401 || c->server->draining)
		evhttp_add_header(headers, "Connection", "close");
	if (status == 405)
		evhttp_add_header(headers, "Allow", c->route->flags & GATE_READ ? "GET, POST" : "POST");
	if (status == 503 || status == 429)
		evhttp_add_header(headers, "Retry-After", "1");
	evbuffer_add(body, text, strlen(text));
	evbuffer_add(body, "\n", 1);
	evhttp_send_reply(http, status, gate_answer_reason(status), NULL);
}

static void call_answer_error(struct gate_call *c, const struct err *e, json_t *problems)
{
	char *text = gate_answer_error(e, problems);
	int status = gate_answer_status(e->code);

	if (status == 500)
		log_error("request \"%s\" failed: %s %s", c->route ? c->route->verb : "unknown", e->code, e->message);
	call_answer(c, status, text);
	free(text);
}

void gate_call_reply(struct gate_call *c, const char *text)
{
	call_answer(c, 200, text);
	call_free(c);
}

void gate_call_fail(struct gate_call *c, const struct err *e, json_t *problems)
{
	call_answer_error(c, e, problems);
	call_free(c);
}

void gate_call_hand_over(struct gate_call *c)
{
	call_lose_client(c);
	call_free(c);
}

void gate_call_pass(struct gate_call *c, const char *text, const struct err *e)
{
	if (e)
		gate_call_fail(c, e, NULL);
	else
		gate_call_reply(c, text);
}

void gate_call_abandon(struct gate_call *c)
{
	gate_call_reply(c, "{}");
}

static void call_timer(evutil_socket_t fd, short what, void *arg)
{
	struct gate_call *c = arg;
	struct err e;

	(void)fd;
	(void)what;
	if (gate_session_cancel(c->query)) {
		gate_refuse(&e, "RT503", "the database was busy for %d s", CALL_TIMEOUT);
		err_hint(&e, "Nothing was done; try again when other requests have been answered.");
		gate_call_fail(c, &e, NULL);
		return;
	}
	gate_refuse(&e, "RT504", "the database did not answer within %d s", CALL_TIMEOUT);
	err_hint(&e, "It is not known whether the request took effect; check before you repeat it.");
	call_answer_error(c, &e, NULL); /* the client has an answer now; the request ends when the database answers */
}

void gate_call_explain_rights(const struct gate_call *c, struct err *e)
{
	struct err before = *e;

	err_hint(e, "%s%sOver HTTPS, operators and administrators need their certificate: %s.", before.hint,
		 *before.hint ? " " : "", c->objection);
}

/* Add a hint to an error of the database: which rights were missing, or whether the request took effect. */
static void call_explain(const struct gate_call *c, struct err *e)
{
	if (c->objection && strcmp(e->code, "RT403") == 0)
		gate_call_explain_rights(c, e);
	if (strncmp(e->code, "08", 2) != 0 || e->hint[0])
		return;
	struct err before = *e;
	snprintf(e->message, sizeof e->message, UNREACHABLE ": %.400s", before.message);
	if (c->route->flags & GATE_READ || strcmp(e->code, "08003") == 0)
		err_hint(e, "Nothing was done; jobmgrd keeps trying. " UNREACHABLE_NEXT);
	else
		err_hint(e, "It is not known whether the request took effect. " UNREACHABLE_NEXT);
}

static void call_returned(struct db *db, PGresult *result, const struct err *failure, void *arg)
{
	struct gate_call *c = arg;
	bool one = result && PQntuples(result) == 1 && PQnfields(result) == 1 && !PQgetisnull(result, 0, 0);
	struct err e;

	(void)db;
	event_del(c->timer);
	if (!c->http) {
		call_free(c);
		return;
	}
	if (one && PQgetlength(result, 0, 0) <= ANSWER_LARGEST) {
		c->then(c, PQgetvalue(result, 0, 0), NULL);
		return;
	}
	if (!result && strncmp(failure->code, "40", 2) == 0 && c->retries++ < CALL_RETRIES) {
		c->send(c);
		return;
	}
	if (!result) {
		e = *failure;
	} else if (one) {
		gate_refuse(&e, "RT413", "the answer would be longer than %d MiB", ANSWER_LARGEST >> 20);
		err_hint(&e, "Ask for fewer jobs or elements at a time.");
	} else {
		gate_refuse(&e, "RT500", "the database's answer to \"%s\" is not one value", c->route->verb);
	}
	call_explain(c, &e);
	c->then(c, NULL, &e);
}

struct gate_sessions *gate_call_sessions(const struct gate_call *c)
{
	if (c->is_stale)
		return c->credential->is_remote ? c->server->remote_stale_sessions : c->server->stale_sessions;
	if (c->credential->is_remote && !c->is_certified)
		return c->server->remote_sessions;
	return c->route->flags & GATE_ADMIN ? c->server->admin_sessions : c->server->sessions;
}

void gate_call_db(struct gate_call *c, enum api_function function, const struct db_param *params, int count,
		  gate_answer_handler *then)
{
	struct timeval limit = {.tv_sec = CALL_TIMEOUT};
	struct gate_quota *quota = c->user ? c->user : c->quota;
	struct gate_sessions *sessions = gate_call_sessions(c);
	bool is_change = sessions == c->server->admin_sessions;

	c->then = then;
	event_add(c->timer, &limit);
	c->query = gate_session_query(sessions, is_change ? NULL : &quota->queries, function, params, count, call_returned, c);
}

void gate_call_request(struct gate_call *c, enum api_function function, const json_t *request, gate_answer_handler *then)
{
	char uid[16], *text = json_dumps(request, JSON_COMPACT);

	if (!text)
		die("could not write a request as JSON");
	snprintf(uid, sizeof uid, "%u", (unsigned)c->credential->uid);
	gate_call_db(c, function, (struct db_param[]){{uid, -1}, {c->credential->user, -1}, {text, -1}}, 3, then);
	free(text);
}

static void call_send_request(struct gate_call *c)
{
	gate_call_request(c, c->route->function, c->request, gate_call_pass);
}

void gate_call_forward(struct gate_call *c)
{
	c->send = call_send_request;
	call_send_request(c);
}

struct gate_call *gate_call_new(struct gate_server *server, struct evhttp_request *http)
{
	struct gate_call *c = xcalloc(1, sizeof *c);

	c->server = server;
	c->http = http;
	c->connection =
		gate_connection_find(server->connections, evhttp_connection_get_bufferevent(evhttp_request_get_connection(http)));
	gate_connection_serve(c->connection);
	c->timer = event_new(server->base, -1, 0, call_timer, c);
	TAILQ_INSERT_TAIL(&server->calls, c, link);
	return c;
}

void gate_calls_lost(struct gate_server *server, struct evhttp_connection *connection)
{
	struct gate_call *c;

	TAILQ_FOREACH (c, &server->calls, link) {
		/* evhttp may have detached the request from its connection before; then the request ends with its answer */
		if (!c->http || evhttp_request_get_connection(c->http) != connection)
			continue;
		call_lose_client(c);
	}
}

void gate_calls_free(struct gate_server *server)
{
	while (!TAILQ_EMPTY(&server->calls))
		call_free(TAILQ_FIRST(&server->calls));
}
