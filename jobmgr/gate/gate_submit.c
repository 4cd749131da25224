/* gate_submit.c - submission: translate the script, authenticate each step, hand all of it to api.job_submit.
 *
 * gate_call.c calls it. What always holds: the owner of the job is who the credential names; what the authenticators cover
 * (owner, script, environment, spec) is what goes to the database in the same call. */
#include "jobmgr/gate/gate_submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_translate.h"
#include "jobmgr/lead/sign.h"

/* umask of a request: a number, or octal digits. */
static bool submit_umask(const json_t *request, int *mask, struct err *e)
{
	const json_t *value = json_object_get(request, "umask");
	const char *text = json_string_value(value);
	char *end = NULL;
	long number = 022;

	if (text)
		number = strtol(text, &end, 8);
	else if (value && !json_is_null(value))
		number = json_is_integer(value) ? (long)json_integer_value(value) : -1;
	if ((text && (end == text || *end)) || number < 0 || number > 0777)
		return gate_refuse(e, "RT422", "\"umask\" must be octal digits, or a number from 0 to 511");
	*mask = (int)number;
	return true;
}

/* The members of the request as the translator takes them; `options` is malloc'ed. */
static bool submit_request(const struct gate_call *c, struct translate_request *r, const char ***options, struct err *e)
{
	*r = (struct translate_request){.home = c->claim->home, .now = (int64_t)time(NULL)};
	if (!gate_member_texts(c->request, "options", options, &r->option_count, e) ||
	    !gate_member_text(c->request, "script", NULL, &r->script, e) ||
	    !gate_member_text(c->request, "script_name", "script", &r->script_name, e) ||
	    !gate_member_text(c->request, "workdir", NULL, &r->workdir, e) ||
	    !gate_member_text(c->request, "rlimits", "", &r->rlimits, e) ||
	    !gate_member_text(c->request, "client_key", NULL, &r->client_key, e) ||
	    !gate_member_text(c->request, "retry_key", NULL, &r->retry_key, e) || !submit_umask(c->request, &r->umask, e))
		return false;
	r->options = *options;
	if (!r->script)
		return gate_refuse(e, "RT422", "the request has no \"script\"");
	if (!r->workdir || *r->workdir != '/')
		return gate_refuse(e, "RT422", "\"workdir\" must be an absolute path");
	r->size = json_string_length(json_object_get(c->request, "script"));
	return true;
}

/* The environment as a list of "NAME=value", whichever way the request wrote it. */
static json_t *submit_environment(const json_t *request, struct err *e)
{
	json_t *given = json_object_get(request, "environment"), *value, *list;
	const char *name;

	if (json_is_array(given))
		return json_incref(given);
	list = json_array();
	if (given && !json_is_null(given) && !json_is_object(given))
		goto bad;
	json_object_foreach (given, name, value) {
		if (!json_is_string(value))
			goto bad;
		json_array_append_new(list, json_sprintf("%s=%s", name, json_string_value(value)));
	}
	return list;
bad:
	json_decref(list);
	gate_refuse(e, "RT422", "\"environment\" must be a list of \"NAME=value\" or an object of strings");
	return NULL;
}

/* NAME=value strings, each with its zero byte, as the database keeps them and the node takes them; what is no variable is left
 * out. */
static void submit_pack(struct gate_call *c, const json_t *list)
{
	size_t size = 0, i;
	const json_t *value;

	free(c->bytes);
	json_array_foreach (list, i, value)
		size += json_string_length(value) + 1;
	c->bytes = xmalloc(size);
	c->bytes_size = 0;
	json_array_foreach (list, i, value) {
		const char *text = json_string_value(value), *sign = text ? strchr(text, '=') : NULL;

		if (!sign || sign == text)
			continue;
		memcpy(c->bytes + c->bytes_size, text, json_string_length(value) + 1);
		c->bytes_size += json_string_length(value) + 1;
	}
}

/* What the plan lets through of the environment becomes c->bytes. */
static bool submit_export(struct gate_call *c, const json_t *plan, struct err *e)
{
	const char *list = json_string_value(json_object_get(json_object_get(plan, "job"), "export"));
	json_t *environment = submit_environment(c->request, e), *exported;

	if (!environment)
		return false;
	exported = translate_export(list ? list : "ALL", environment, e);
	json_decref(environment);
	if (!exported) {
		snprintf(e->code, sizeof e->code, "RT422");
		return false;
	}
	submit_pack(c, exported);
	json_decref(exported);
	return true;
}

/* Leave out what is null or holds nothing: the database takes what is not there for the same, and of a long plan it is a third. */
static void submit_trim(json_t *object)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, key, value)
	{
		bool holds_nothing =
			(json_is_object(value) || json_is_array(value)) && !json_object_size(value) && !json_array_size(value);

		if (json_is_null(value) || holds_nothing)
			json_object_del(object, key);
	}
}

static bool submit_alike(const json_t *list, const char *key, const json_t *value)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (!json_equal(value, json_object_get(item, key)))
			return false;
	return true;
}

/* What all steps have alike is said once, as the plan's "common": of a long plan, most. */
static void submit_share(json_t *plan)
{
	json_t *steps = json_object_get(plan, "steps"), *common, *step, *value;
	const char *key;
	void *next;
	size_t i;

	if (json_array_size(steps) < 2)
		return;
	common = json_copy(json_array_get(steps, 0));
	json_object_foreach_safe(common, next, key, value)
	{
		if (!submit_alike(steps, key, value))
			json_object_del(common, key);
	}
	json_array_foreach (steps, i, step)
		json_object_foreach (common, key, value)
			json_object_del(step, key);
	json_object_set_new(plan, "common", common);
}

static size_t shared_end(const char *a, size_t a_length, const char *b, size_t b_length, size_t most)
{
	size_t n = 0;

	while (n < most && n < a_length && n < b_length && a[a_length - n - 1] == b[b_length - n - 1])
		n++;
	return n;
}

/* The lines in which the specs of all steps end alike become the plan's "spec_end": what only some have comes first in a spec. */
static void submit_share_spec(json_t *plan)
{
	json_t *steps = json_object_get(plan, "steps"), *step;
	const json_t *first = json_object_get(json_array_get(steps, 0), "spec");
	size_t i, length = json_string_length(first), most = length;
	const char *text = json_string_value(first), *end;
	char *shared;

	if (json_array_size(steps) < 2)
		return;
	json_array_foreach (steps, i, step) {
		const json_t *spec = json_object_get(step, "spec");

		most = shared_end(text, length, json_string_value(spec), json_string_length(spec), most);
	}
	end = strchr(text + length - most, '\n');
	if (!end)
		return;
	shared = xstrdup(end + 1);
	json_object_set_new(plan, "spec_end", json_string(shared));
	json_array_foreach (steps, i, step) {
		const json_t *spec = json_object_get(step, "spec");

		json_object_set_new(step, "spec",
				    json_stringn(json_string_value(spec), json_string_length(spec) - strlen(shared)));
	}
	free(shared);
}

/* Vouch for each step of the plan. */
static void submit_authenticate(struct gate_call *c, const struct translate_request *r, json_t *plan)
{
	char script[SEAL_HEX_SIZE], environment[SEAL_HEX_SIZE], hex[SEAL_HEX_SIZE];
	json_t *step, *edge, *job = json_object_get(plan, "job");
	size_t i;

	seal_hash_hex(r->script, r->size, script);
	seal_hash_hex(c->bytes, c->bytes_size, environment);
	json_array_foreach (json_object_get(plan, "steps"), i, step) {
		sign_authenticator(c->gate->key,
				   &(struct sign_subject){.uid = c->claim->uid,
							  .gid = c->claim->gid,
							  .user = c->claim->user,
							  .script_hash = script,
							  .environment_hash = environment,
							  .spec = json_string_value(json_object_get(step, "spec"))},
				   hex);
		json_object_set_new(step, "auth", json_string(hex));
		submit_trim(step);
	}
	submit_share_spec(plan);
	submit_share(plan);
	json_array_foreach (json_object_get(plan, "edges"), i, edge)
		submit_trim(edge);
	json_object_set(job, "groups", c->claim->groups);
	submit_trim(job);
}

static void submit_store(struct gate_call *c)
{
	const json_t *script = json_object_get(c->request, "script");
	char uid[16], gid[16], *plan = json_dumps(c->work, JSON_COMPACT);

	if (!plan)
		die("could not write a plan as JSON");
	snprintf(uid, sizeof uid, "%u", (unsigned)c->claim->uid);
	snprintf(gid, sizeof gid, "%u", (unsigned)c->claim->gid);
	gate_call_db(c, API_job_submit,
		     (struct db_param[]){{uid, -1},
					 {gid, -1},
					 {c->claim->user, -1},
					 {plan, -1},
					 {json_string_value(script), (int)json_string_length(script)},
					 {c->bytes, (int)c->bytes_size}},
		     6, gate_call_pass);
	free(plan);
}

static void submit_translate(struct gate_call *c)
{
	struct translate_problems problems = {0};
	struct translate_request request;
	const char **options = NULL;
	struct err e = {0};

	if (!submit_request(c, &request, &options, &e)) {
		free(options);
		gate_call_fail(c, &e, NULL);
		return;
	}
	c->work = translate_script(&request, c->gate->limits, &problems);
	if (!c->work) {
		if (!gate_limits_again(c, submit_translate))
			gate_call_problems(c, request.script_name, &problems);
	} else if (!submit_export(c, c->work, &e)) {
		gate_call_fail(c, &e, NULL);
	} else {
		submit_authenticate(c, &request, c->work);
		c->issue = submit_store;
		submit_store(c);
	}
	translate_problems_free(&problems);
	free(options);
}

void gate_submit(struct gate_call *c)
{
	gate_limits(c, submit_translate);
}
