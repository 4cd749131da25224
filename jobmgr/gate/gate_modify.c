/* gate_modify.c - modifies submitted steps: reads them, has the translator change them, makes new authenticators.
 *
 * Called by: gate_dispatch.c.
 * Invariants:
 * - Only a step whose authenticator is valid gets a new one, so a row that was altered in the database never becomes valid.
 * - Only the owner, or root, may change what a step runs and how. An operator may change where and when. */
#include "jobmgr/gate/gate_modify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_request.h"
#include "jobmgr/gate/gate_site.h"
#include "jobmgr/gate/gate_translate.h"
#include "jobmgr/sign/sign.h"
#include "jobmgr/site/site_change.h"
#include "jobmgr/site/site_desc.h"
#include "lib/fields.h"

/* Fields of a spec that say where a step runs, or name it. Only the owner of the step may change the other fields. */
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

/* Returns the change of a step, with the new authenticator, as api.job_modify expects it. Returns NULL with an error if the
 * caller may not make this change. */
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
		err_hint(e, "The step will not be run. Cancel the job and submit it again.");
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

/* One job that is modified, with the changes that the site's script made to it. */
struct modified_job {
	json_int_t job_id;
	size_t first_step; /* index of the job's first step */
	struct site_changes changes;
};

struct modification {
	json_t *steps;	  /* the steps, as the database has them; NULL: not read yet */
	json_t *request;  /* request of api.job_modify; NULL: not made yet */
	json_t *messages; /* texts of the site's script for the user; NULL: none */
	json_t *desc;	  /* description of the changes that the user requests, as the Lua table that the site's script judges */
	int64_t now;	  /* time of the request, for the options that name times */
	size_t count;	  /* number of jobs that the site's script judges */
	size_t judged;	  /* number of jobs that the site's script has accepted */
	struct modified_job *jobs;
};

static void modify_begin(struct gate_call *c);
static void modify_ask_site(struct gate_call *c);

/* Free everything in `m`. The steps may be read again afterwards. */
static void modification_clear(struct modification *m)
{
	for (size_t i = 0; i < m->count; i++)
		site_changes_clear(&m->jobs[i].changes);
	free(m->jobs);
	json_decref(m->steps);
	json_decref(m->request);
	json_decref(m->messages);
	json_decref(m->desc);
	*m = (struct modification){0};
}

static void modify_free(struct gate_call *c)
{
	modification_clear(c->state);
	free(c->state);
}

/* Answer the client with the answer of the database, and with the texts of the site's script. */
static void modify_answer(struct gate_call *c, const char *text, const struct err *e)
{
	const struct modification *m = c->state;
	json_t *answer = text && m->messages ? json_loads(text, 0, NULL) : NULL;
	char *whole;

	if (!answer) {
		gate_call_pass(c, text, e);
		return;
	}
	json_object_set(answer, "messages", m->messages);
	whole = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	gate_call_pass(c, whole, NULL);
	free(whole);
}

static void modify_store(struct gate_call *c)
{
	const struct modification *m = c->state;

	gate_call_request(c, API_job_modify, m->request, modify_answer);
}

/* Returns the job of a step among those that the site's script has judged, or NULL. */
static const struct modified_job *modify_find_job(const struct modification *m, const json_t *step)
{
	json_int_t job_id = json_integer_value(json_object_get(step, "job_id"));

	for (size_t i = 0; i < m->count; i++)
		if (m->jobs[i].job_id == job_id)
			return &m->jobs[i];
	return NULL;
}

/* Add the changes of one job to the request for the database, in "each": the site's script may have changed each job in another
 * way. */
static void modify_note_job(json_t *changed, const struct modified_job *job, const json_t *answer)
{
	char number[24];

	snprintf(number, sizeof number, "%lld", (long long)job->job_id);
	json_object_set(json_object_get(changed, "each"), number, json_object_get(answer, "job"));
	if (job->changes.kept)
		json_object_set(json_object_get(changed, "kept"), number, job->changes.kept);
}

/* Change one step, and add it to `changed`. Returns false if the change was refused; then the client has been answered. */
static bool modify_step(struct gate_call *c, const json_t *step, const struct translate_request *common, json_t *changed)
{
	const struct modified_job *job = modify_find_job(c->state, step);
	struct translate_problems problems = {0};
	struct translate_request request = *common;
	json_t *answer, *one;
	struct err e;

	if (job) {
		request.changes = job->changes.list;
		request.change_count = job->changes.count;
	}
	answer = translate_modify(&request, c->server->limits, step, &problems);
	if (!answer) {
		if (!gate_translate_retry(c, modify_begin))
			gate_translate_refuse(c, "", NULL, &problems);
		translate_problems_free(&problems);
		return false;
	}
	one = modify_authenticate_step(c, step, json_object_get(answer, "step"), &e);
	json_object_set(changed, "job", json_object_get(answer, "job"));
	json_object_set(changed, "options", json_object_get(answer, "options"));
	if (job)
		modify_note_job(changed, job, answer);
	json_decref(answer);
	if (one)
		json_array_append_new(json_object_get(changed, "steps"), one);
	else
		gate_call_fail(c, &e, NULL);
	return one;
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
	if (gate_site_is_set(c->server)) {
		json_object_set_new(request, "each", json_object());
		json_object_set_new(request, "kept", json_object());
	}
	return request;
}

/* Read the options and the working directory of the client. *options is malloc'ed; its strings are those of the request. */
static bool modify_read_options(struct gate_call *c, struct translate_request *request, const char ***options, struct err *e)
{
	const struct modification *m = c->state;

	*request = (struct translate_request){.home = c->credential->home, .now = m->now};
	if (!gate_request_texts(c->request, "options", options, &request->option_count, e) ||
	    !gate_request_text(c->request, "workdir", "/", &request->workdir, e))
		return false;
	request->options = *options;
	return true;
}

static void modify_translate(struct gate_call *c)
{
	struct modification *m = c->state;
	struct translate_request request;
	const char **options = NULL;
	json_t *changed = modify_make_request(c), *steps = json_incref(m->steps);
	const json_t *step;
	struct err e;
	bool good = true;
	size_t i;

	if (!modify_read_options(c, &request, &options, &e)) {
		gate_call_fail(c, &e, NULL);
		good = false;
	}
	json_array_foreach (steps, i, step)
		good = good && modify_step(c, step, &request, changed);
	if (good) {
		m->request = json_incref(changed);
		c->send = modify_store;
		modify_store(c);
	}
	json_decref(steps);
	json_decref(changed);
	free(options);
}

/* Set m->jobs to the jobs of the steps, which are in the order of their jobs. */
static void modification_find_jobs(struct modification *m)
{
	const json_t *step;
	size_t i;

	m->jobs = xcalloc(json_array_size(m->steps) + 1, sizeof *m->jobs);
	json_array_foreach (m->steps, i, step) {
		json_int_t job_id = json_integer_value(json_object_get(step, "job_id"));

		if (m->count == 0 || m->jobs[m->count - 1].job_id != job_id)
			m->jobs[m->count++] = (struct modified_job){.job_id = job_id, .first_step = i};
	}
}

/* Set m->desc to the changes that the user requests. Returns false if the options are wrong; then the client has been
 * answered. */
static bool modify_describe(struct gate_call *c)
{
	struct modification *m = c->state;
	struct site_subject subject = {.uid = c->credential->uid, .gid = c->credential->gid, .user = c->credential->user};
	struct translate_problems problems = {0};
	struct translate_request request;
	const char **options = NULL;
	json_t *described = NULL;
	struct err e = {0};

	if (modify_read_options(c, &request, &options, &e))
		described = translate_describe(&request, c->server->limits, &problems);
	if (described)
		m->desc = site_desc(described, &subject);
	else if (*e.code)
		gate_call_fail(c, &e, NULL);
	else if (!gate_translate_retry(c, modify_begin))
		gate_translate_refuse(c, "", NULL, &problems);
	translate_problems_free(&problems);
	json_decref(described);
	free(options);
	return described;
}

/* Store the changes of the site's script to the modification of a job, and ask it about the next job. */
static void modify_judged(struct gate_call *c, const json_t *changes, const json_t *texts)
{
	struct modification *m = c->state;
	struct modified_job *job = &m->jobs[m->judged];
	struct site_changes *own = &job->changes;
	json_t *rec = changes ? site_rec(json_array_get(m->steps, job->first_step)) : NULL;
	struct err e = {0};

	gate_site_add_texts(&m->messages, texts);
	if (changes && !site_changes_read(own, m->desc, rec, changes, m->now, &e)) {
		gate_call_fail(c, &e, NULL);
	} else if (own->environment) {
		gate_refuse(
			&e, "RT422",
			"set by the site's script (environment): the environment cannot be changed once the job is submitted");
		gate_call_fail(c, &e, NULL);
	} else {
		m->judged++;
		modify_ask_site(c);
	}
	json_decref(rec);
}

/* Have the site's script judge the change of each job, one after the other. */
static void modify_ask_site(struct gate_call *c)
{
	struct modification *m = c->state;
	json_t *rec;

	if (m->judged == m->count) {
		modify_translate(c);
		return;
	}
	rec = site_rec(json_array_get(m->steps, m->jobs[m->judged].first_step));
	gate_site_ask(c, "slurm_job_modify", m->desc, rec, NULL, modify_judged);
	json_decref(rec);
}

static void modify_read(struct gate_call *c, const char *text, const struct err *failure)
{
	struct modification *m = c->state;
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
		modification_clear(m);
		m->now = translate_now();
		m->steps = json_incref((json_t *)steps);
		if (!gate_site_is_set(c->server)) {
			modify_translate(c);
		} else if (modify_describe(c)) {
			modification_find_jobs(m);
			modify_ask_site(c);
		}
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
	c->state = xcalloc(1, sizeof(struct modification));
	if (!json_array_size(json_object_get(c->request, "options"))) {
		gate_refuse(&e, "RT422", "the request needs \"options\", a list of strings");
		gate_call_fail(c, &e, NULL);
	} else {
		gate_translate_with_limits(c, modify_begin);
	}
}
