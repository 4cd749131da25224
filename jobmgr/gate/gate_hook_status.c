/* gate_hook_status.c - has the site's function slurm_bb_get_status answer users (gate_hook_status.h).
 *
 * Called by: gate_dispatch.c for each request; gate.c at the end.
 * Invariants:
 * - All users may make such a request. The function gets the ids of the user from the credential, so no user can ask as another.
 * - The words of the request are arguments of the function; no shell parses them.
 * - A request ends when the function answers, the client closes its connection, or jobmgrd exits. */
#include "jobmgr/gate/gate_hook_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_hangup.h"
#include "lib/hook_call.h"
#include "lib/text.h"

enum {
	WORDS_MOST = 100,
	WORDS_SIZE_MOST = 64 * 1024, /* bytes of all words as JSON */
	REASON_LONGEST = 350,
	ANSWER_SECONDS = 30 /* seconds after hooks.other_timeout in which runnerd must have killed the function and answered */
};

/* The state of a request while the function runs. */
struct hook_status {
	struct hook_call *call;	    /* call of the function in runnerd; NULL: it has ended */
	struct event *end;	    /* event that ends the request without an answer of the script */
	struct gate_hangup *hangup; /* watch of the client's connection; NULL: the client is answered, or gone */
};

static void status_lose_client(struct gate_call *c)
{
	struct hook_status *s = c->state;

	gate_hangup_free(s->hangup);
	s->hangup = NULL;
	if (s->call)
		event_active(s->end, EV_TIMEOUT, 0);
}

static void status_free(struct gate_call *c)
{
	struct hook_status *s = c->state;

	gate_hangup_free(s->hangup);
	event_free(s->end);
	free(s);
}

static const struct gate_verb status_verb = {status_lose_client, status_free};

static void status_ended(evutil_socket_t fd, short what, void *arg)
{
	struct gate_call *c = arg;
	struct hook_status *s = c->state;
	struct err e;

	(void)fd;
	(void)what;
	hook_call_cancel(s->call);
	s->call = NULL;
	if (!c->http) {
		gate_call_abandon(c);
		return;
	}
	gate_refuse(&e, "RT503", "the job manager is shutting down");
	gate_call_fail(c, &e, NULL);
}

/* Called when the client has closed its connection. */
static void status_hangup(struct gate_call *c)
{
	struct hook_status *s = c->state;

	hook_call_cancel(s->call);
	s->call = NULL;
	gate_call_abandon(c);
}

bool gate_hook_status_is_asked(const struct gate_call *c)
{
	const char *action = json_string_value(json_object_get(c->request, "action"));

	return c->route->flags & GATE_HOOK && action && strcmp(action, "status") == 0;
}

/* End the request because the function failed, or could not be called. */
static void status_fail(struct gate_call *c, const char *code, const char *reason)
{
	char *text = xstrdup(reason ? reason : "");
	struct err e;

	text_cut(text, REASON_LONGEST);
	text_clean(text);
	gate_refuse(&e, code, "Error running slurm_bb_get_status%s%s", *text ? ": " : "", text);
	free(text);
	gate_call_fail(c, &e, NULL);
}

/* Returns the text that the function returned; NULL: none. Clients cannot read a NUL, so it becomes "?". */
static json_t *status_text(const json_t *answer)
{
	const json_t *message = json_object_get(answer, "message");
	size_t length = json_string_length(message);
	char *text;
	json_t *copy;

	if (!json_is_string(message))
		return NULL;
	text = xmalloc(length + 1);
	for (size_t i = 0; i < length; i++)
		text[i] = json_string_value(message)[i] ? json_string_value(message)[i] : '?';
	text[length] = '\0';
	copy = json_string(text);
	free(text);
	return copy;
}

static void status_answered(const json_t *answer, const struct err *failure, void *arg)
{
	struct gate_call *c = arg;
	struct hook_status *s = c->state;
	json_t *reply;
	char *text;

	s->call = NULL;
	if (failure) {
		status_fail(c, *failure->code ? failure->code : "RT503", failure->message);
	} else if (json_integer_value(json_object_get(answer, "rc")) != 0) {
		status_fail(c, "RT502", json_string_value(json_object_get(answer, "message")));
	} else {
		reply = json_pack("{s:o?}", "lines", status_text(answer));
		text = json_dumps(reply, JSON_COMPACT);
		gate_call_reply(c, text);
		free(text);
		json_decref(reply);
	}
}

/* Returns true if the words of the request are a list of texts that is not too long. */
static bool status_are_words(const json_t *words)
{
	const json_t *word;
	size_t i;

	json_array_foreach (words, i, word) {
		if (!json_is_string(word))
			return false;
	}
	return !words || (json_is_array(words) && json_array_size(words) <= WORDS_MOST &&
			  json_dumpb(words, NULL, 0, JSON_COMPACT) <= WORDS_SIZE_MOST);
}

/* Returns the body of the request to runnerd, malloc'ed. */
static char *status_request(const struct gate_call *c)
{
	json_t *arguments = json_array(), *body;
	char id[16], *text;

	snprintf(id, sizeof id, "%u", (unsigned)c->credential->uid);
	json_array_append_new(arguments, json_string(id));
	snprintf(id, sizeof id, "%u", (unsigned)c->credential->gid);
	json_array_append_new(arguments, json_string(id));
	json_array_extend(arguments, json_object_get(c->request, "words"));
	body = json_pack("{s:o}", "args", arguments);
	text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	if (!text)
		die("could not write a request for runnerd as JSON");
	return text;
}

void gate_hook_status(struct gate_call *c)
{
	const struct gate_server *server = c->server;
	struct hook_status *s;
	char *body;
	struct err e;

	if (server->draining) {
		gate_refuse(&e, "RT503", "the job manager is shutting down");
	} else if (!*server->conf->hooks_burst_buffer) {
		gate_refuse(&e, "RT422", "this instance has no burst_buffer.lua");
		err_hint(&e, "hooks.burst_buffer in rota.conf of jobmgrd names it.");
	} else if (!status_are_words(json_object_get(c->request, "words"))) {
		gate_refuse(&e, "RT422", "\"words\" must be a list of at most %d texts, in all at most %d KiB", WORDS_MOST,
			    WORDS_SIZE_MOST >> 10);
	} else {
		s = xcalloc(1, sizeof *s);
		s->end = evtimer_new(server->base, status_ended, c);
		c->state = s;
		c->verb = &status_verb;
		s->hangup = c->http ? gate_hangup_new(c, status_hangup) : NULL;
		body = status_request(c);
		s->call = hook_call(server->hooks,
				    &(struct hook_request){.script = "burst_buffer",
							   .function = "slurm_bb_get_status",
							   .body = body,
							   .seconds = server->conf->hooks_other_timeout + ANSWER_SECONDS},
				    status_answered, c);
		free(body);
		return;
	}
	gate_call_fail(c, &e, NULL);
}

void gate_hook_status_end(struct gate_server *server)
{
	struct gate_call *c;

	TAILQ_FOREACH (c, &server->calls, link) {
		if (c->verb == &status_verb)
			status_lose_client(c);
	}
}
