/* gate_token.c - signs tokens for step managers (gate_token.h).
 *
 * Called by: gate_dispatch.c.
 * Invariants:
 * - The user in a token is the one whom the credential of the request names. The database answers only where the step manager
 *   listens.
 * - A token names the certificate of that step manager. If the database has a wrong one, no step manager accepts the token. */
#include "jobmgr/gate/gate_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/step_token.h"

/* Copy a member of the answer to `text`. Returns false if it is missing or too long. */
static bool token_copy(const json_t *answer, const char *name, char *text, size_t size)
{
	const char *value = json_string_value(json_object_get(answer, name));

	return value && (size_t)snprintf(text, size, "%s", value) < size;
}

/* Sign a token for the step manager that the database's answer names, and add it to the answer. Returns false if members are
 * missing. */
static bool token_add(const struct gate_call *c, json_t *answer)
{
	struct step_token token = {
		.job_id = json_integer_value(json_object_get(answer, "job_id")),
		.step_id = (int)json_integer_value(json_object_get(answer, "step_id")),
		.attempt = (int)json_integer_value(json_object_get(answer, "attempt")),
		.uid = c->credential->uid,
		.expires_at = time(NULL) + STEP_TOKEN_LIFETIME_S,
	};
	char *text;

	if (token.job_id < 1 || !token_copy(answer, "node", token.node, sizeof token.node) ||
	    !token_copy(answer, "fingerprint", token.fingerprint, sizeof token.fingerprint))
		return false;
	step_token_make_nonce(&token);
	text = step_token_write(c->server->sign_key, &token);
	json_object_set_new(answer, "token", json_string(text));
	free(text);
	return true;
}

static void token_answered(struct gate_call *c, const char *text, const struct err *failure)
{
	json_t *answer = text ? json_loads(text, 0, NULL) : NULL;
	bool is_ready = json_is_true(json_object_get(answer, "ready"));
	struct err e;
	char *reply;

	if (failure) {
		gate_call_fail(c, failure, NULL);
	} else if (!json_is_object(answer) || (is_ready && !token_add(c, answer))) {
		gate_refuse(&e, "RT500",
			    "the database's answer names no step manager (api.step_token); run \"rota admin db upgrade\"");
		gate_call_fail(c, &e, NULL);
	} else {
		reply = json_dumps(answer, JSON_COMPACT);
		gate_call_reply(c, reply);
		free(reply);
	}
	json_decref(answer);
}

static void token_ask(struct gate_call *c)
{
	gate_call_request(c, c->route->function, c->request, token_answered);
}

void gate_token(struct gate_call *c)
{
	c->send = token_ask;
	token_ask(c);
}
