/* gate_translate.c - caches the cluster's limits for a second, and answers a request with the problems of its translation.
 *
 * Called by: gate_submit.c, gate_modify.c.
 * Invariants:
 * - The limits serve to refuse a step that can never run, early and with its line. api.job_submit checks the limits again.
 * - A request that is refused by cached limits is translated again with new ones. */
#include "jobmgr/gate/gate_translate.h"

#include <stdlib.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/clock.h"

enum { TRANSLATE_LIMITS_AGE = 1000 /* milliseconds for which limits of the cluster are used */ };

void gate_translate_free_limits(struct gate_server *server)
{
	if (server->limits)
		translate_limits_free(server->limits);
	free(server->limits);
	server->limits = NULL;
}

static void translate_set_limits(struct gate_server *server, const struct translate_limits *limits)
{
	gate_translate_free_limits(server);
	server->limits = xmalloc(sizeof *server->limits);
	*server->limits = *limits;
	server->limits_at = clock_ms();
}

static void translate_take_limits(struct gate_call *c, const char *text, const struct err *failure)
{
	struct translate_limits limits;
	json_t *facts = text ? json_loads(text, 0, NULL) : NULL;
	struct err e;
	bool is_valid = facts && translate_limits_read(facts, &limits, &e);

	if (failure)
		e = *failure;
	else if (!facts)
		gate_refuse(&e, "RT500", "the database's answer is not JSON (api.submit_limits); run \"rota admin db upgrade\"");
	json_decref(facts);
	if (!is_valid) {
		gate_call_fail(c, &e, NULL);
		return;
	}
	translate_set_limits(c->server, &limits);
	c->resume(c);
}

static void translate_ask_limits(struct gate_call *c)
{
	json_t *request = json_pack("{ss}", "credential_defaults", "all"); /* the answer is cached for the calls of all users */

	gate_call_request(c, API_submit_limits, request, translate_take_limits);
	json_decref(request);
}

void gate_translate_with_limits(struct gate_call *c, void (*then)(struct gate_call *c))
{
	if (c->server->limits && clock_ms() - c->server->limits_at < TRANSLATE_LIMITS_AGE) {
		then(c);
		return;
	}
	gate_translate_retry(c, then);
}

bool gate_translate_retry(struct gate_call *c, void (*then)(struct gate_call *c))
{
	if (c->resume)
		return false;
	c->resume = then;
	c->send = translate_ask_limits;
	translate_ask_limits(c);
	return true;
}

void gate_translate_refuse(struct gate_call *c, const char *file, const char *label, const struct translate_problems *problems)
{
	struct err e;
	json_t *list = translate_problems_refusal(problems, file, label, &e);

	gate_call_fail(c, &e, list);
}
