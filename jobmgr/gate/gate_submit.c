/* gate_submit.c - submits jobs: plans each job of a request, reserves numbers, then stores all jobs by one call of the database.
 *
 * Called by: gate_dispatch.c.
 * Invariants:
 * - All jobs of a request are made, or none. */
#include "jobmgr/gate/gate_submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_forward.h"
#include "jobmgr/gate/gate_job.h"
#include "jobmgr/gate/gate_numbers.h"
#include "jobmgr/gate/gate_request.h"
#include "jobmgr/gate/gate_site.h"
#include "jobmgr/gate/gate_translate.h"

enum { SUBMIT_JOBS = 1000 /* most jobs of one request */ };

struct submission {
	bool list; /* the request has a list "jobs" */
	size_t count;
	/* The jobs are asked about in order, so each number is also the index of the next job. judged: number of jobs that the
	 * site's script job_submit has accepted. staged: number of jobs whose directives the script burst_buffer has accepted, or
	 * that have no such directives. */
	size_t judged, staged;
	struct gate_job jobs[];
};

/* Returns the name of a job for errors: the name of its own script, or else its index in the list. */
static char *submission_make_label(const json_t *own, size_t i)
{
	const char *name = json_string_value(json_object_get(own, "script_name"));

	return name ? xstrdup(name) : xasprintf("jobs[%zu]", i);
}

static bool submission_read_list(struct submission *s, const json_t *list, const json_t *common, struct err *e)
{
	const json_t *own;
	size_t i;

	if (gate_request_member(common, "client_key") || gate_request_member(common, "retry_key"))
		return gate_refuse(
			e, "RT422",
			"client_key or retry_key beside \"jobs\" would be the key of all jobs; give each job a key of its own");
	json_array_foreach (list, i, own) {
		if (!json_is_object(own))
			return gate_refuse(e, "RT422", "jobs[%zu]: must be an object", i);
		s->jobs[i].request = gate_job_request(own, common);
		s->jobs[i].label = submission_make_label(own, i);
	}
	return true;
}

static void submission_free(struct submission *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		gate_job_clear(&s->jobs[i]);
		json_decref(s->jobs[i].request);
		free(s->jobs[i].label);
	}
	free(s);
}

/* Returns the jobs of a submission, or NULL with an error. */
static struct submission *submission_new(json_t *request, struct err *e)
{
	const json_t *list = gate_request_member(request, "jobs");
	size_t count = list ? json_array_size(list) : 1;
	struct submission *s;

	if (count < 1 || count > SUBMIT_JOBS) {
		gate_refuse(e, "RT422", "\"jobs\" must be a list of 1 to %d jobs", SUBMIT_JOBS);
		err_hint(e, "Send more jobs in several requests. Of each request, all jobs are made or none.");
		return NULL;
	}
	s = xcalloc(1, sizeof *s + count * sizeof *s->jobs);
	s->list = list;
	s->count = count;
	if (!list) {
		s->jobs[0].request = json_incref(request);
	} else if (!submission_read_list(s, list, request, e)) {
		submission_free(s);
		return NULL;
	}
	return s;
}

static char *submit_write_plan(const json_t *plan)
{
	char *text = json_dumps(plan, JSON_COMPACT);

	if (!text)
		die("could not write a plan as JSON");
	return text;
}

/* Does the request only check a job that has transfers? Then its client also translates the script, with the settings of this
 * jobmgrd, unless the site's script has replaced the script. */
static bool submission_checks_transfers(const struct gate_call *c)
{
	const struct submission *s = c->state;

	return c->route->function == API_job_try && !s->jobs[0].changes.script &&
	       json_object_get(json_object_get(s->jobs[0].plan, "job"), "transfers");
}

/* Returns the settings of rota.conf on which the translation of transfers depends. */
static json_t *submission_staging(const struct conf *conf)
{
	return json_pack("{s:s, s:b, s:s}", "scratch", conf->staging_scratch, "shared", strcmp(conf->staging_shared, "yes") == 0,
			 "partition", conf->staging_partition);
}

/* Does the submission have messages or warnings for the user about a job? */
static bool submission_has_notes(const struct gate_call *c)
{
	const struct submission *s = c->state;

	if (submission_checks_transfers(c))
		return true;
	for (size_t i = 0; i < s->count; i++)
		if (s->jobs[i].warnings || s->jobs[i].messages)
			return true;
	return false;
}

/* Answer with the error of the database. The hint names what the site's script has set, since the user has not set it. */
static void submit_fail(struct gate_call *c, const struct err *failure)
{
	const struct submission *s = c->state;
	struct err e = *failure;
	char *names = NULL;

	for (size_t i = 0; i < s->count && !names; i++)
		names = site_changes_names(&s->jobs[i].changes);
	if (strncmp(e.code, "RT4", 3) == 0)
		gate_site_explain(names, &e);
	free(names);
	gate_call_fail(c, &e, NULL);
}

/* Answer the client with the answer of the database, and with the warnings and the texts of the site's script about each job. */
static void submit_answer(struct gate_call *c, const char *text, const struct err *e)
{
	const struct submission *s = c->state;
	json_t *answer = text && submission_has_notes(c) ? json_loads(text, 0, NULL) : NULL;
	char *whole;

	if (e) {
		submit_fail(c, e);
		return;
	}
	if (!answer) {
		gate_call_pass(c, text, e);
		return;
	}
	for (size_t i = 0; i < s->count; i++) {
		json_t *job = s->list ? json_array_get(json_object_get(answer, "jobs"), i) : answer;

		if (job && s->jobs[i].warnings)
			json_object_set(job, "warnings", s->jobs[i].warnings);
		if (job && s->jobs[i].messages)
			json_object_set(job, "messages", s->jobs[i].messages);
	}
	if (submission_checks_transfers(c))
		json_object_set_new(answer, "staging", submission_staging(c->server->conf));
	whole = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	gate_call_pass(c, whole, NULL);
	free(whole);
}

/* Store all jobs: send their plans, scripts and environments to the database. A null script or environment means: that of the
 * job before. */
static void submit_store_list(struct gate_call *c, const char *uid, const char *gid)
{
	const struct submission *s = c->state;
	struct db_array *scripts = db_array_new(), *environments = db_array_new();
	json_t *plans = json_array(), *before = NULL;
	char *text;

	for (size_t i = 0; i < s->count; i++) {
		const struct gate_job *job = &s->jobs[i];
		json_t *script = gate_job_script(job);

		json_array_append(plans, job->plan);
		if (json_equal(script, before))
			db_array_text(scripts, NULL);
		else
			db_array_bytes(scripts, json_string_value(script), (int)json_string_length(script));
		if (!job->environment)
			db_array_text(environments, NULL);
		else
			db_array_bytes(environments, job->environment, (int)job->environment_size);
		before = script;
	}
	text = submit_write_plan(plans);
	gate_call_db(c, API_job_submit_list,
		     (struct db_param[]){{uid, -1},
					 {gid, -1},
					 {c->credential->user, -1},
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
	const json_t *script = gate_job_script(job);
	char *plan = submit_write_plan(job->plan);

	gate_call_db(c, c->route->function,
		     (struct db_param[]){{uid, -1},
					 {gid, -1},
					 {c->credential->user, -1},
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

	snprintf(uid, sizeof uid, "%u", (unsigned)c->credential->uid);
	snprintf(gid, sizeof gid, "%u", (unsigned)c->credential->gid);
	if (s->list)
		submit_store_list(c, uid, gid);
	else
		submit_store_one(c, uid, gid);
}

static void submit_authenticate(struct gate_call *c, const json_t *numbers)
{
	const struct submission *s = c->state;

	for (size_t i = 0; i < s->count; i++)
		gate_job_authenticate(c, &s->jobs[i], json_integer_value(json_array_get(numbers, i)));
	submit_store(c);
}

static void submit_take_numbers(struct gate_call *c, const char *text, const struct err *failure)
{
	const struct submission *s = c->state;
	json_t *numbers = text ? json_loads(text, 0, NULL) : NULL;
	struct err e;

	if (failure) {
		gate_call_fail(c, failure, NULL);
	} else if (json_array_size(numbers) < s->count) {
		gate_refuse(
			&e, "RT500",
			"the database's answer has not one number for each job (api.job_number); run \"rota admin db upgrade\"");
		gate_call_fail(c, &e, NULL);
	} else {
		gate_numbers_put(c->server->numbers, numbers, s->count);
		submit_authenticate(c, numbers);
	}
	json_decref(numbers);
}

/* Reserve a number for each job, since its authenticators cover the number. After a rollback, the jobs get new numbers. */
static void submit_reserve(struct gate_call *c)
{
	const struct submission *s = c->state;
	size_t ahead = s->list ? 0 : gate_numbers_ahead(c->server->numbers);
	char count[24];

	snprintf(count, sizeof count, "%zu", s->count + ahead);
	gate_call_db(c, API_job_number, (struct db_param[]){{count, -1}}, 1, submit_take_numbers);
}

/* Submit with job numbers of the stock if it has enough, else reserve some first. */
static void submit_begin(struct gate_call *c)
{
	const struct submission *s = c->state;
	json_t *numbers = gate_numbers_take(c->server->numbers, s->count);

	c->send = submit_reserve;
	if (numbers)
		submit_authenticate(c, numbers);
	else
		submit_reserve(c);
	json_decref(numbers);
}

static void submit_try(struct gate_call *c)
{
	c->send = submit_try;
	submit_authenticate(c, NULL);
}

/* Refuse the whole submission because of one of its jobs. */
static void submit_refuse(struct gate_call *c, const struct gate_job *job, const struct translate_problems *problems,
			  const struct err *failure)
{
	struct err e = *failure;
	char *name;

	if (!*failure->code) {
		name = gate_job_script_name(job);
		gate_translate_refuse(c, name, job->label, problems);
		free(name);
		return;
	}
	if (job->label)
		snprintf(e.message, sizeof e.message, "%.100s: %.400s", job->label, failure->message);
	gate_call_fail(c, &e, NULL);
}

/* Add a job to the size of the request. All jobs of a request together may be as large as one job may be. Members that jobs
 * share count for each job. */
static bool submission_count_job(const struct gate_call *c, const struct gate_job *job, size_t *size, size_t *steps,
				 struct err *e)
{
	*size += job->size;
	*steps += json_array_size(json_object_get(job->plan, "steps"));
	if (*size > (size_t)c->server->conf->gate_max_body)
		gate_refuse(e, "RT413", "the scripts and environments of the jobs up to this one have more than %d bytes",
			    c->server->conf->gate_max_body);
	else if (*steps > (size_t)c->server->limits->steps)
		gate_refuse(e, "RT413", "the jobs up to this one have more than %d steps", c->server->limits->steps);
	else
		return true;
	return err_hint(e, "Send fewer jobs in a request.");
}

static void submit_ask_again(struct gate_call *c);

static void submit_ask_staging(struct gate_call *c);

static void submit_staging_judged(struct gate_call *c, const json_t *changes, const json_t *texts)
{
	struct submission *s = c->state;

	(void)changes;
	gate_site_add_texts(&s->jobs[s->staged++].messages, texts);
	submit_ask_staging(c);
}

/* Have the script burst_buffer judge the jobs with directives, one after the other; then submit. */
static void submit_ask_staging(struct gate_call *c)
{
	struct submission *s = c->state;
	const struct gate_job *job;

	while (s->staged < s->count && !json_object_get(json_object_get(s->jobs[s->staged].plan, "job"), "staging"))
		s->staged++;
	job = &s->jobs[s->staged];
	if (s->staged < s->count)
		gate_site_ask_staging(c, gate_job_script(job), job->plan, job->label, submit_staging_judged);
	else if (c->route->function == API_job_try)
		submit_try(c);
	else
		submit_begin(c);
}

/* Has the client uploaded all credentials that the jobs add (NAME:forward)? If not, the request is ended. A job that is only
 * checked adds none. */
static bool submission_has_forwards(struct gate_call *c)
{
	struct submission *s = c->state;
	json_t *names;
	bool done;

	if (c->route->function == API_job_try)
		return true;
	names = json_array();
	for (size_t i = 0; i < s->count; i++)
		gate_forward_take(s->jobs[i].plan, names);
	done = gate_forward_done(c, names);
	json_decref(names);
	return done;
}

static void submit_translate(struct gate_call *c)
{
	struct submission *s = c->state;
	struct translate_problems problems = {0};
	struct err e = {0};
	size_t i = 0, size = 0, steps = 0;

	while (i < s->count && gate_job_plan(c, &s->jobs[i], i > 0 ? &s->jobs[i - 1] : NULL, &problems, &e) &&
	       submission_count_job(c, &s->jobs[i], &size, &steps, &e))
		i++;
	if (i == s->count) {
		s->staged = 0;
		if (submission_has_forwards(c))
			submit_ask_staging(c);
	} else if (*e.code || !gate_translate_retry(c, gate_site_is_set(c->server) ? submit_ask_again : submit_translate)) {
		submit_refuse(c, &s->jobs[i], &problems, &e);
	}
	translate_problems_free(&problems);
}

static void submit_ask_site(struct gate_call *c);

/* Store the changes of the site's script to a job, and ask it about the next job. */
static void submit_judged(struct gate_call *c, const json_t *changes, const json_t *texts)
{
	struct submission *s = c->state;
	struct translate_problems none = {0};
	struct err e = {0};

	if (gate_job_change(&s->jobs[s->judged], changes, texts, &e)) {
		s->judged++;
		submit_ask_site(c);
	} else {
		submit_refuse(c, &s->jobs[s->judged], &none, &e);
	}
}

/* Have the site's script judge each job, one after the other, before the jobs are planned. */
static void submit_ask_site(struct gate_call *c)
{
	struct submission *s = c->state;
	struct gate_job *job = &s->jobs[s->judged];
	struct translate_problems problems = {0};
	struct err e = {0};

	if (s->judged == s->count)
		submit_translate(c);
	else if (gate_job_describe(c, job, &problems, &e))
		gate_site_ask(c, "slurm_job_submit", job->desc, NULL, job->label, submit_judged);
	else if (*e.code || !gate_translate_retry(c, submit_ask_site))
		submit_refuse(c, job, &problems, &e);
	translate_problems_free(&problems);
}

/* Have the site's script judge all jobs again, since it was given outdated limits of partitions. */
static void submit_ask_again(struct gate_call *c)
{
	struct submission *s = c->state;

	for (size_t i = 0; i < s->count; i++)
		gate_job_clear(&s->jobs[i]);
	s->judged = 0;
	submit_ask_site(c);
}

/* May the client's user run jobs at all? Each launcher checks this again, by its own configuration. */
static bool submit_may_run(const struct gate_call *c, struct err *e)
{
	const struct conf *conf = c->server->conf;
	uid_t uid = c->credential->uid, lowest = conf_min_uid(conf);
	bool is_owner = !conf_is_personal(conf) || uid == geteuid();

	if (uid >= lowest && is_owner)
		return true;
	gate_refuse(e, "RT403", "jobs of uid %u do not run here", (unsigned)uid);
	if (!is_owner)
		return err_hint(e,
				"This instance runs jobs of uid %u only, who started it. For several users, start one as root.",
				(unsigned)geteuid());
	return err_hint(e, "Nodes run jobs of uids from %ld on: launcher.min_uid in rota.conf.", (long)lowest);
}

static void submit_free(struct gate_call *c)
{
	submission_free(c->state);
}

void gate_submit(struct gate_call *c)
{
	static const struct gate_verb verb = {.free = submit_free};
	struct err e = {0};
	struct submission *s = submit_may_run(c, &e) ? submission_new(c->request, &e) : NULL;

	if (!s) {
		gate_call_fail(c, &e, NULL);
		return;
	}
	c->verb = &verb;
	c->state = s;
	gate_translate_with_limits(c, gate_site_is_set(c->server) ? submit_ask_site : submit_translate);
}
