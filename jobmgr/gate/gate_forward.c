/* gate_forward.c - credentials that the client adds with a submission (--cred=NAME:forward).
 *
 * Called by: gate_submit.c.
 * Invariants:
 * - Only the plan names such credentials, so neither a comment nor a script with an error makes a client upload one.
 * - No job is stored before the client has uploaded all of them. */
#include "jobmgr/gate/gate_forward.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_request.h"

static bool forward_is_listed(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
			return true;
	return false;
}

void gate_forward_take(json_t *plan, json_t *names)
{
	json_t *job = json_object_get(plan, "job"), *one;
	size_t i;

	json_array_foreach (json_object_get(job, "forward"), i, one)
		if (!forward_is_listed(names, json_string_value(one)))
			json_array_append(names, one);
	json_object_del(job, "forward");
}

bool gate_forward_done(struct gate_call *c, const json_t *names)
{
	const json_t *uploaded = gate_request_member(c->request, "forwarded"), *one;
	json_t *missing = json_array();
	char *text;
	size_t i;
	bool done;
	struct err e = {0};

	json_array_foreach (names, i, one)
		if (!forward_is_listed(uploaded, json_string_value(one)))
			json_array_append(missing, (json_t *)one);
	done = json_array_size(missing) == 0;
	if (!done && !uploaded) {
		gate_refuse(&e, "RT422", "--cred: this client cannot upload credential \"%s\" with the submission",
			    json_string_value(json_array_get(missing, 0)));
		err_hint(&e, "Submit with rota, or add the credential before, and leave \":forward\" out.");
		gate_call_fail(c, &e, NULL);
	} else if (!done) {
		json_t *answer = json_pack("{sO}", "forward", missing);

		text = json_dumps(answer, JSON_COMPACT);
		gate_call_reply(c, text);
		json_decref(answer);
		free(text);
	}
	json_decref(missing);
	return done;
}
