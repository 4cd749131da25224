/* gate_submit.c - submission: every job that a request asks for is planned, then all go to the database in one call.
 *
 * gate_intake.c calls it. What always holds: of the jobs of one request all are made, or none. */
#include "jobmgr/gate/gate_submit.h"

#include <stdio.h>
#include <stdlib.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_job.h"
#include "jobmgr/gate/gate_member.h"
#include "jobmgr/gate/gate_translate.h"

enum { SUBMIT_JOBS = 1000 }; /* of one request, at the most */

struct submission {
	bool list; /* asked for as one, however many there are */
	size_t count;
	struct gate_job jobs[];
};

/* What errors call it: by the name of its script, if that is its own, else by its place. */
static char *submission_label(const json_t *own, size_t i)
{
	const char *name = json_string_value(json_object_get(own, "script_name"));

	return name ? xstrdup(name) : xasprintf("jobs[%zu]", i);
}

static bool submission_list(struct submission *s, const json_t *list, const json_t *common, struct err *e)
{
	const json_t *own;
	size_t i;

	if (gate_member(common, "client_key") || gate_member(common, "retry_key"))
		return gate_refuse(e, "RT422", "a key beside \"jobs\" would be that of all of them: give each its own");
	json_array_foreach (list, i, own) {
		if (!json_is_object(own))
			return gate_refuse(e, "RT422", "jobs[%zu]: must be an object", i);
		s->jobs[i].request = gate_job_request(own, common);
		s->jobs[i].label = submission_label(own, i);
	}
	return true;
}

static void submission_free(struct submission *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		gate_job_forget(&s->jobs[i]);
		json_decref(s->jobs[i].request);
		free(s->jobs[i].label);
	}
	free(s);
}

/* The jobs of a request; NULL with an error. */
static struct submission *submission_new(json_t *request, struct err *e)
{
	const json_t *list = gate_member(request, "jobs");
	size_t count = list ? json_array_size(list) : 1;
	struct submission *s;

	if (count < 1 || count > SUBMIT_JOBS) {
		gate_refuse(e, "RT422", "\"jobs\" must be a list of 1 to %d jobs", SUBMIT_JOBS);
		err_hint(e, "Send more in several requests: of each, all are made or none.");
		return NULL;
	}
	s = xcalloc(1, sizeof *s + count * sizeof *s->jobs);
	s->list = list;
	s->count = count;
	if (!list) {
		s->jobs[0].request = json_incref(request);
	} else if (!submission_list(s, list, request, e)) {
		submission_free(s);
		return NULL;
	}
	return s;
}

static char *plan_text(const json_t *plan)
{
	char *text = json_dumps(plan, JSON_COMPACT);

	if (!text)
		die("could not write a plan as JSON");
	return text;
}

static bool submission_warns(const struct submission *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->jobs[i].warnings)
			return true;
	return false;
}

/* The database's answer, with the warnings about each job in it. */
static void submit_answer(struct gate_call *c, const char *text, const struct err *e)
{
	const struct submission *s = c->state;
	json_t *answer = text && submission_warns(s) ? json_loads(text, 0, NULL) : NULL;
	char *whole;

	if (!answer) {
		gate_call_pass(c, text, e);
		return;
	}
	for (size_t i = 0; i < s->count; i++) {
		json_t *job = s->list ? json_array_get(json_object_get(answer, "jobs"), i) : answer;

		if (job && s->jobs[i].warnings)
			json_object_set(job, "warnings", s->jobs[i].warnings);
	}
	whole = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	gate_call_pass(c, whole, NULL);
	free(whole);
}

/* Plans of all jobs, their scripts and environments; of the latter two null stands for what the job before has. */
static void submit_store_list(struct gate_call *c, const char *uid, const char *gid)
{
	const struct submission *s = c->state;
	struct db_array *scripts = db_array_new(), *environments = db_array_new();
	json_t *plans = json_array(), *before = NULL;
	char *text;

	for (size_t i = 0; i < s->count; i++) {
		const struct gate_job *job = &s->jobs[i];
		json_t *script = json_object_get(job->request, "script");

		json_array_append(plans, job->plan);
		if (script == before)
			db_array_text(scripts, NULL);
		else
			db_array_bytes(scripts, json_string_value(script), (int)json_string_length(script));
		if (!job->environment)
			db_array_text(environments, NULL);
		else
			db_array_bytes(environments, job->environment, (int)job->environment_size);
		before = script;
	}
	text = plan_text(plans);
	gate_call_db(c, API_job_submit_list,
		     (struct db_param[]){{uid, -1},
					 {gid, -1},
					 {c->claim->user, -1},
					 {text, -1},
					 {db_array_literal(scripts), -1},
					 {db_array_literal(environments), -1}},
		     6, submit_answer);
	free(text);
	json_decref(plans);
	db_array_free(scripts);
	db_array_free(environments);
}

static void submit_store_one(struct gate_call *c, const char *uid, const char *gid)
{
	const struct submission *s = c->state;
	const struct gate_job *job = s->jobs;
	const json_t *script = json_object_get(job->request, "script");
	char *plan = plan_text(job->plan);

	gate_call_db(c, c->route->function,
		     (struct db_param[]){{uid, -1},
					 {gid, -1},
					 {c->claim->user, -1},
					 {plan, -1},
					 {json_string_value(script), (int)json_string_length(script)},
					 {job->environment, (int)job->environment_size}},
		     6, submit_answer);
	free(plan);
}

static void submit_store(struct gate_call *c)
{
	const struct submission *s = c->state;
	char uid[16], gid[16];

	snprintf(uid, sizeof uid, "%u", (unsigned)c->claim->uid);
	snprintf(gid, sizeof gid, "%u", (unsigned)c->claim->gid);
	if (s->list)
		submit_store_list(c, uid, gid);
	else
		submit_store_one(c, uid, gid);
}

/* One job is refused, and so are all. */
static void submit_refuse(struct gate_call *c, const struct gate_job *job, const struct translate_problems *problems,
			  const struct err *failure)
{
	const char *name = json_string_value(json_object_get(job->request, "script_name"));
	struct err e = *failure;

	if (!*failure->code) {
		gate_call_problems(c, name ? name : "script", job->label, problems);
		return;
	}
	if (job->label)
		snprintf(e.message, sizeof e.message, "%.100s: %.400s", job->label, failure->message);
	gate_call_fail(c, &e, NULL);
}

/* Many jobs may be as large as one may be, all together: what they share is looked through for each of them. */
static bool submission_add(const struct gate_call *c, const struct gate_job *job, size_t *size, size_t *steps, struct err *e)
{
	*size += job->size;
	*steps += json_array_size(json_object_get(job->plan, "steps"));
	if (*size > (size_t)c->gate->conf->gate_max_body)
		gate_refuse(e, "RT413", "scripts and environments up to this job have more than %d bytes",
			    c->gate->conf->gate_max_body);
	else if (*steps > (size_t)c->gate->limits->steps)
		gate_refuse(e, "RT413", "jobs up to this one have more than %d steps", c->gate->limits->steps);
	else
		return true;
	return err_hint(e, "Send fewer jobs in a request.");
}

static void submit_translate(struct gate_call *c)
{
	struct submission *s = c->state;
	struct translate_problems problems = {0};
	struct err e = {0};
	size_t i = 0, size = 0, steps = 0;

	while (i < s->count && gate_job_plan(c, &s->jobs[i], i > 0 ? &s->jobs[i - 1] : NULL, &problems, &e) &&
	       submission_add(c, &s->jobs[i], &size, &steps, &e))
		i++;
	if (i == s->count) {
		c->issue = submit_store;
		submit_store(c);
	} else if (*e.code || !gate_limits_again(c, submit_translate)) {
		submit_refuse(c, &s->jobs[i], &problems, &e);
	}
	translate_problems_free(&problems);
}

static void submit_free(struct gate_call *c)
{
	submission_free(c->state);
}

void gate_submit(struct gate_call *c)
{
	static const struct gate_verb verb = {.free = submit_free};
	struct err e = {0};
	struct submission *s = submission_new(c->request, &e);

	if (!s) {
		gate_call_fail(c, &e, NULL);
		return;
	}
	c->verb = &verb;
	c->state = s;
	gate_limits(c, submit_translate);
}
