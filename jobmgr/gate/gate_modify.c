/* gate_modify.c - modifies submitted steps: read them, let the translator change them, make new authenticators.
 *
 * Called by: gate_dispatch.c.
 * Invariants:
 * - Only a step whose authenticator is valid gets a new one, so a row that was altered in the database never becomes valid.
 * - Only the owner, or root, changes what a step runs and how. An operator changes where and when. */
#include "jobmgr/gate/gate_modify.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_request.h"
#include "jobmgr/gate/gate_translate.h"
#include "jobmgr/sign/sign.h"
#include "lib/fields.h"

/* Fields of a spec that place or name a step. Only the owner of the step may change the other fields. */
static const char *const placement_fields[] = {"job_name", "account", "partition", "submit_ntasks", "cpus_per_task"};

static bool modify_is_placement(const char *name)
{
	for (size_t i = 0; i < sizeof placement_fields / sizeof *placement_fields; i++) {
		if (strcmp(name, placement_fields[i]) == 0)
			return true;
	}
	return false;
}

bool gate_modify_runs_alike(const char *before, const char *after)
{
	struct fields *old = fields_parse(before, strlen(before), NULL), *new = fields_parse(after, strlen(after), NULL);
	bool is_alike = old && new &&fields_count(old) == fields_count(new);

	for (int i = 0; is_alike && i < fields_count(old); i++) {
		const char *name = fields_name(old, i), *value = fields_get(new, name);

		is_alike = value && (modify_is_placement(name) || strcmp(value, fields_value(old, i)) == 0);
	}
	fields_free(old);
	fields_free(new);
	return is_alike;
}

/* Read the subject of a step's authenticator from an answer of api.job_spec. Returns false if a member is missing. */
static bool modify_read_subject(const json_t *step, struct sign_subject *s, struct err *e)
{
	s->uid = (uid_t)json_integer_value(json_object_get(step, "uid"));
	s->gid = (gid_t)json_integer_value(json_object_get(step, "gid"));
	s->user = json_string_value(json_object_get(step, "user"));
	s->script_hash = json_string_value(json_object_get(step, "script_hash"));
	s->environment_hash = json_string_value(json_object_get(step, "environment_hash"));
	s->spec = json_string_value(json_object_get(step, "spec"));
	s->number = json_integer_value(json_object_get(step, "auth_number"));
	if (json_is_integer(json_object_get(step, "uid")) && json_is_integer(json_object_get(step, "gid")) &&
	    json_is_integer(json_object_get(step, "auth_number")) && s->user && s->script_hash && s->environment_hash && s->spec)
		return true;
	return gate_refuse(e, "RT500",
			   "the database's answer about a step is incomplete (api.job_spec); run \"rota admin db upgrade\"");
}

/* Returns the members of a step, except "spec", whose values differ before and after the change. */
static json_t *modify_list_changes(const json_t *before, const json_t *after)
{
	json_t *changes = json_object(), *value;
	const char *name;

	json_object_foreach ((json_t *)after, name, value) {
		if (strcmp(name, "spec") != 0 && !json_equal(value, json_object_get(before, name)))
			json_object_set(changes, name, value);
	}
	return changes;
}

/* Returns a changed step, with its new authenticator, as api.job_modify takes it. Returns NULL with an error if the caller may
 * not make this change. */
static json_t *modify_authenticate_step(const struct gate_call *c, const json_t *before, const json_t *after, struct err *e)
{
	const char *auth = json_string_value(json_object_get(before, "auth"));
	const char *spec = json_string_value(json_object_get(after, "spec"));
	char hex[SEAL_HEX_SIZE];
	struct sign_subject subject;

	if (!modify_read_subject(before, &subject, e))
		return NULL;
	if (!auth || !sign_authenticator_check(c->server->key, &subject, auth)) {
		gate_refuse(e, "RT409", "step \"%s\" is not as its owner submitted it: its row was altered in the database",
			    json_string_value(json_object_get(before, "name")));
		err_hint(e, "It will not be run. Cancel the job and submit it again.");
		return NULL;
	}
	if (c->credential->uid != subject.uid && c->credential->uid != 0 && !gate_modify_runs_alike(subject.spec, spec)) {
		gate_refuse(e, "RT403", "only the owner \"%s\" may change what the step runs and how", subject.user);
		return NULL;
	}
	subject.spec = spec;
	sign_authenticator(c->server->key, &subject, hex);
	return json_pack("{s:O, s:O, s:o, s:s, s:s}", "job_id", json_object_get(before, "job_id"), "request_id",
			 json_object_get(before, "request_id"), "changed", modify_list_changes(before, after), "spec", spec,
			 "auth", hex);
}

static void modify_begin(struct gate_call *c);

/* Free the state of a modify request: the request of api.job_modify, or NULL if that is not made yet. */
static void modify_free(struct gate_call *c)
{
	json_decref(c->state);
}

static void modify_store(struct gate_call *c)
{
	gate_call_request(c, API_job_modify, c->state, gate_call_pass);
}

/* Change each step. Returns false if a step was refused; the client's request has then been answered. */
static bool modify_steps(struct gate_call *c, const json_t *steps, const struct translate_request *request, json_t *changed)
{
	struct translate_problems problems = {0};
	const json_t *step;
	size_t i;
	struct err e;

	json_array_foreach (steps, i, step) {
		json_t *answer = translate_modify(request, c->server->limits, step, &problems), *one;

		if (!answer) {
			if (!gate_translate_retry(c, modify_begin))
				gate_translate_refuse(c, "", NULL, &problems);
			translate_problems_free(&problems);
			return false;
		}
		one = modify_authenticate_step(c, step, json_object_get(answer, "step"), &e);
		json_object_set(changed, "job", json_object_get(answer, "job"));
		json_object_set(changed, "options", json_object_get(answer, "options"));
		json_decref(answer);
		if (!one) {
			gate_call_fail(c, &e, NULL);
			return false;
		}
		json_array_append_new(json_object_get(changed, "steps"), one);
	}
	return true;
}

/* Returns the request of api.job_modify with the client's selection of jobs, and no steps yet. */
static json_t *modify_make_request(const struct gate_call *c)
{
	json_t *request = json_copy(c->request);

	json_object_del(request, "options");
	json_object_del(request, "workdir");
	json_object_set_new(request, "steps", json_array());
	if (c->credential->groups)
		json_object_set(request, "groups", c->credential->groups);
	return request;
}

static void modify_translate(struct gate_call *c, const json_t *steps)
{
	struct translate_request request = {.home = c->credential->home, .now = translate_now()};
	const char **options = NULL;
	json_t *changed = modify_make_request(c);
	struct err e;

	if (!gate_request_texts(c->request, "options", &options, &request.option_count, &e) ||
	    !gate_request_text(c->request, "workdir", "/", &request.workdir, &e)) {
		gate_call_fail(c, &e, NULL);
	} else {
		request.options = options;
		if (modify_steps(c, steps, &request, changed)) {
			modify_free(c);
			c->state = json_incref(changed);
			c->send = modify_store;
			modify_store(c);
		}
	}
	json_decref(changed);
	free(options);
}

static void modify_read(struct gate_call *c, const char *text, const struct err *failure)
{
	json_t *answer = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *steps = json_object_get(answer, "steps");
	struct err e;

	if (failure) {
		gate_call_fail(c, failure, NULL);
	} else if (!json_is_array(steps)) {
		gate_refuse(&e, "RT500",
			    "the database's answer has no list of steps (api.job_spec); run \"rota admin db upgrade\"");
		gate_call_fail(c, &e, NULL);
	} else {
		modify_translate(c, steps);
	}
	json_decref(answer);
}

static void modify_ask(struct gate_call *c)
{
	gate_call_request(c, API_job_spec, c->request, modify_read);
}

static void modify_begin(struct gate_call *c)
{
	c->send = modify_ask;
	modify_ask(c);
}

void gate_modify(struct gate_call *c)
{
	static const struct gate_verb verb = {.free = modify_free};
	struct err e;

	c->verb = &verb;
	if (!json_array_size(json_object_get(c->request, "options"))) {
		gate_refuse(&e, "RT422", "the request needs \"options\", a list of strings");
		gate_call_fail(c, &e, NULL);
	} else {
		gate_translate_with_limits(c, modify_begin);
	}
}
