/* gate_translate.c - the cluster's limits, kept for a second, and a translation's problems as an answer.
 *
 * gate_submit.c and gate_modify.c call it. What always holds: limits only let a hopeless request fail early and with its line, and
 * nobody is refused by old ones; api.job_submit checks by itself, so what they let through does no harm. */
#include "jobmgr/gate/gate_translate.h"

#include <stdlib.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/clock.h"

enum { LIMITS_AGE = 1000 }; /* milliseconds */

void gate_limits_free(struct gate_office *gate)
{
	if (gate->limits)
		translate_limits_free(gate->limits);
	free(gate->limits);
	gate->limits = NULL;
}

static void limits_set(struct gate_office *gate, const struct translate_limits *limits)
{
	gate_limits_free(gate);
	gate->limits = xmalloc(sizeof *gate->limits);
	*gate->limits = *limits;
	gate->limits_at = clock_ms();
}

static void limits_came(struct gate_call *c, const char *text, const struct err *failure)
{
	struct translate_limits limits;
	json_t *facts = text ? json_loads(text, 0, NULL) : NULL;
	struct err e;
	bool good = facts && translate_limits_read(facts, &limits, &e);

	if (failure)
		e = *failure;
	else if (!facts)
		gate_refuse(&e, "RT500", "the limits are not JSON");
	json_decref(facts);
	if (!good) {
		gate_call_fail(c, &e, NULL);
		return;
	}
	limits_set(c->gate, &limits);
	c->go_on(c);
}

static void limits_ask(struct gate_call *c)
{
	json_t *nothing = json_object();

	gate_call_request(c, API_submit_limits, nothing, limits_came);
	json_decref(nothing);
}

void gate_limits(struct gate_call *c, void (*then)(struct gate_call *c))
{
	if (c->gate->limits && clock_ms() - c->gate->limits_at < LIMITS_AGE) {
		then(c);
		return;
	}
	gate_limits_again(c, then);
}

bool gate_limits_again(struct gate_call *c, void (*then)(struct gate_call *c))
{
	if (c->go_on)
		return false;
	c->go_on = then;
	c->issue = limits_ask;
	limits_ask(c);
	return true;
}

void gate_call_problems(struct gate_call *c, const char *file, const char *label, const struct translate_problems *problems)
{
	struct err e;
	json_t *list = translate_problems_refusal(problems, file, label, &e);

	gate_call_fail(c, &e, list);
}
