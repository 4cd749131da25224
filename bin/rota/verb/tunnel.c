/* tunnel.c - `rota tunnel`: connects standard input and output with the step manager of a step on another machine. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/steps/allocation.h"
#include "bin/rota/steps/route.h"
#include "bin/rota/steps/tunnel.h"
#include "lib/clock.h"

enum { TUNNEL_ATTEMPT = 256, TUNNEL_CLOSE_STDERR, READY_MS = 20000, LOOK_MS = 20, LOOK_MOST_MS = 250 };
enum {
	CONNECT_S = 10, /* seconds within which the node must answer */
	TRY_S = 3	/* seconds for which a direct connection is tried where jobmgrd can relay instead */
};

const struct verb_option tunnel_options[] = {
	{TUNNEL_ATTEMPT, "attempt", "N", "connect only if this attempt of the step runs"},
	{TUNNEL_CLOSE_STDERR, "close-stderr", NULL,
	 "close standard error once the connection is made, as a sign to the calling program"},
	{0, NULL, NULL, NULL},
};

/* Repeat the request for a token until the step manager listens. Returns jobmgrd's answer, which has a token; NULL with an
 * error. */
static json_t *token_get(const json_t *step, const char *id, struct err *e)
{
	int64_t until = clock_ms() + READY_MS;
	json_t *answer = NULL;

	for (int pause = LOOK_MS;; pause = pause * 2 < LOOK_MOST_MS ? pause * 2 : LOOK_MOST_MS) {
		json_t *request = json_pack("{s:I, s:O, s:O}", "job_id", (json_int_t)strtoll(id, NULL, 10), "step_id",
					    json_object_get(step, "step_id"), "attempt", json_object_get(step, "attempt"));
		if (!call_try(call_conf(), "step_token", request, &answer, e))
			return NULL;
		if (json_is_true(json_object_get(answer, "ready")))
			return answer;
		if (clock_ms() > until)
			break;
		json_decref(answer);
		poll(NULL, 0, pause);
	}
	err_set(e, "node %s did not report that the step manager listens", format_text(answer, "node"));
	err_hint(e, "Is the node down? `rota nodes` says so.");
	json_decref(answer);
	return NULL;
}

/* Begin TLS with the step manager on the connection `t`, and send the token. Returns `t`; on failure, closes it and returns NULL
 * with an error. */
static struct tunnel *peer_begin(struct tunnel *t, const struct tunnel_peer *peer, bool *is_silent, struct err *e)
{
	if (t && tunnel_begin(t, peer, is_silent, e))
		return t;
	tunnel_close(t);
	return NULL;
}

/* Connect directly to the node of the step manager. */
static struct tunnel *connect_node(const struct tunnel_peer *peer, int seconds, bool *is_silent, struct err *e)
{
	*is_silent = true;
	return peer_begin(tunnel_open(peer, seconds, e), peer, is_silent, e);
}

/* Connect through jobmgrd, which knows where the step manager of the answer's step listens. */
static struct tunnel *connect_relay(const struct tunnel_peer *peer, const json_t *answer, struct err *e)
{
	json_t *request = json_pack("{s:O, s:O, s:O}", "job_id", json_object_get(answer, "job_id"), "step_id",
				    json_object_get(answer, "step_id"), "attempt", json_object_get(answer, "attempt"));
	struct http *relay = call_upgrade(call_conf(), "step_relay", request, "rota-step", e);
	bool is_silent;

	return relay ? peer_begin(tunnel_open_relayed(relay, e), peer, &is_silent, e) : NULL;
}

/* Connect by the route that ROTA_STEP_ROUTE names. If it is not set, connect directly and, if the node does not answer, so that
 * the token was not sent, through jobmgrd. */
static struct tunnel *connect_peer(const struct tunnel_peer *peer, const json_t *answer, struct err *e)
{
	enum route route = route_asked();
	struct err straight = {0};
	struct tunnel *t = NULL;
	bool is_silent = true;

	if (route != ROUTE_RELAY)
		t = connect_node(peer, route == ROUTE_ANY ? TRY_S : CONNECT_S, &is_silent, &straight);
	*e = straight;
	if (t || route == ROUTE_LOCAL || route == ROUTE_TLS || !is_silent)
		return t;
	t = connect_relay(peer, answer, e);
	if (!t && route == ROUTE_ANY) {
		struct err relayed = *e;

		err_set(e, "%s; through jobmgrd: %s", straight.message, relayed.message);
		err_hint(e, "%s", *relayed.hint ? relayed.hint : straight.hint);
	}
	return t;
}

static struct tunnel *connect_step(const json_t *step, const char *id, struct err *e)
{
	json_t *answer = token_get(step, id, e);
	struct tunnel_peer peer = {.host = format_text(answer, "host"),
				   .port = (int)json_integer_value(json_object_get(answer, "port")),
				   .fingerprint = format_text(answer, "fingerprint"),
				   .token = format_text(answer, "token")};
	struct tunnel *t = answer ? connect_peer(&peer, answer, e) : NULL;

	json_decref(answer);
	return t;
}

/* Returns the running step that a word names; NULL with an error. */
static const json_t *find_step(const json_t *answer, const char *word, long attempt, struct err *e)
{
	const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0),
		     *step = allocation_running_step(job, strchr(word, '.') ? word : NULL);

	if (step && (!attempt || json_integer_value(json_object_get(step, "attempt")) == attempt))
		return step;
	err_set(e, "no step of %s runs", word);
	return NULL;
}

int verb_tunnel(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	bool closes = false;
	long attempt = 0;
	struct err e = {0};
	json_t *answer;
	const json_t *step;
	struct tunnel *t;
	char *id;

	for (int option; (option = verb_next(&scan));) {
		if (option == TUNNEL_ATTEMPT)
			attempt = verb_number(&scan, 1, INT32_MAX);
		closes |= option == TUNNEL_CLOSE_STDERR;
	}
	verb_operands(&scan, 1, 1);
	id = xstrndup(argv[scan.at], strcspn(argv[scan.at], "."));
	answer = call_gate("show", json_pack("{s:[s]}", "jobs", id));
	if (!answer)
		return call_status();
	step = find_step(answer, argv[scan.at], attempt, &e);
	t = step ? connect_step(step, id, &e) : NULL;
	json_decref(answer);
	free(id);
	if (!t) {
		call_error(&e);
		return step ? EXIT_NO_GATE : EXIT_REFUSED;
	}
	int null = closes ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	tunnel_run(t);
	tunnel_close(t);
	return EXIT_OK;
}
