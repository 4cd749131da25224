/* growth.c - submits a growth (growth.h).
 *
 * Called by: verb/grow.c.
 * Invariants:
 * - The job has the account, quality of service, partition, reservation, image and preparation of the step, which the database
 *   verifies, and its credentials, so that sub-steps find them on each node.
 * - With --nodes=+2, the job is an array with one element for each node. So each node comes as soon as it is free, and can be
 *   given back alone. */
#include "bin/rota/steps/growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/steps/holder.h"
#include "bin/rota/submit/submit_options.h"
#include "lib/hosts.h"
#include "jobmgr/translate/option.h"
#include "jobmgr/translate/option_value.h"

enum { TIME_LEAST = 60, LOOK_USEC = 250000, LOOKS_MOST = 120 };

static void add_text(json_t *options, const char *name, const char *value)
{
	if (value && *value)
		json_array_append_new(options, json_sprintf("--%s=%s", name, value));
}

static void add_number(json_t *options, const char *name, long long value)
{
	json_array_append_new(options, json_sprintf("--%s=%lld", name, value));
}

static long long number_of(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

/* Returns the seconds of a value of --time; -1 with an error if it is none. */
static long long seconds_of(const char *option, const char *text, struct err *e)
{
	struct err cause;
	struct option_context context = {.items_left = 1000};
	json_t *value = option_value(option_row(OPTION_ID_TIME), text, &context, &cause);
	long long seconds = value ? json_integer_value(value) : -1;

	if (!value)
		err_set(e, "--%s: %s", option, cause.message);
	json_decref(value);
	return seconds;
}

/* Returns how long the nodes are needed, in seconds; 0: no limit; -1 with an error. */
static long long needed_s(const json_t *step, const struct growth_request *r, struct err *e)
{
	long long limit = number_of(step, "time_limit_s");
	double left = (double)limit - json_number_value(json_object_get(step, "elapsed_s")) +
		      json_number_value(json_object_get(step, "suspended_s"));

	if (r->time)
		return seconds_of("time", r->time, e);
	return limit == 0 ? 0 : left > TIME_LEAST ? (long long)left + 1 : TIME_LEAST;
}

static bool add_times(json_t *options, const json_t *step, const struct growth_request *r, struct err *e)
{
	long long time = needed_s(step, r, e), within = r->within ? seconds_of("within", r->within, e) : 0;

	if (time < 0 || within < 0)
		return false;
	json_array_append_new(options, json_sprintf("--time=%lld:%02lld:%02lld", time / 3600, time / 60 % 60, time % 60));
	if (r->within)
		json_array_append_new(options, json_sprintf("--deadline=now+%lldseconds", within + time));
	return true;
}

/* Returns the generic resources of a step as in --gres, malloc'ed. */
static char *gres_of(const json_t *step)
{
	json_t *gres = json_object_get(step, "gres"), *count;
	char *text = xstrdup("");
	const char *name;

	json_object_foreach (gres, name, count) {
		char *longer = xasprintf("%s%s%s:%lld", text, *text ? "," : "", name, (long long)json_integer_value(count));

		free(text);
		text = longer;
	}
	return text;
}

/* Add the options for the resources of one node: by default as much as a node of the step has on average. */
static void add_node(json_t *options, const json_t *step, const struct growth_request *r)
{
	long long count = hosts_count(format_text(step, "nodes")), nodes = count > 0 ? count : 1;
	char *gres = gres_of(step);

	add_number(options, "nodes", 1);
	add_number(options, "ntasks", 1);
	add_number(options, "cpus-per-task",
		   r->cpus_per_task > 0 ? r->cpus_per_task : (number_of(step, "cpus") + nodes - 1) / nodes);
	if (!r->mem && number_of(step, "mem_mb") > 0)
		add_number(options, "mem", (number_of(step, "mem_mb") + nodes - 1) / nodes);
	add_text(options, "gres", r->gres ? r->gres : gres);
	if (r->nodes > 1)
		json_array_append_new(options, json_sprintf("--array=1-%ld", r->nodes));
	free(gres);
}

static void add_tasks(json_t *options, const json_t *step, const struct growth_request *r)
{
	long long cpus = number_of(step, "cpus");

	add_number(options, "ntasks", r->ntasks);
	add_number(options, "cpus-per-task", r->cpus_per_task > 0 ? r->cpus_per_task : number_of(step, "cpus_per_task"));
	if (!r->mem && number_of(step, "mem_mb") > 0 && cpus > 0)
		add_number(options, "mem-per-cpu", (number_of(step, "mem_mb") + cpus - 1) / cpus);
	add_text(options, "gres", r->gres);
}

/* Returns the options of the job; NULL with an error. */
static json_t *growth_options(const json_t *job, const json_t *step, const struct growth_request *r, struct err *e)
{
	json_t *options = json_array();

	json_array_append_new(options, json_sprintf("--grow=%lld.%lld.%lld", number_of(job, "job_id"), number_of(step, "step_id"),
						    number_of(step, "attempt")));
	add_text(options, "job-name", "grow");
	add_text(options, "output", "/dev/null");
	json_array_append_new(options, json_string("--no-requeue"));
	/* Sub-steps of a lost node may run again elsewhere, so the node has to end them. */
	json_array_append_new(options, json_string("--node-loss=fence"));
	add_text(options, "account", format_text(job, "account"));
	add_text(options, "qos", format_text(job, "qos"));
	add_text(options, "partition", format_text(step, "partition"));
	add_text(options, "reservation", format_text(step, "reservation"));
	add_text(options, "image", format_text(step, "image"));
	add_text(options, "cred", *format_text(step, "credentials") ? format_text(step, "credentials") : "none");
	add_text(options, "node-prep", format_text(step, "prep"));
	if (r->nodes > 0)
		add_node(options, step, r);
	else
		add_tasks(options, step, r);
	if (json_is_true(json_object_get(step, "exclusive")))
		json_array_append_new(options, json_string("--exclusive"));
	add_text(options, "mem", r->mem);
	add_text(options, "nodelist", r->nodelist);
	add_text(options, "exclude", r->exclude);
	add_text(options, "constraint", r->constraint ? r->constraint : format_text(step, "constraint"));
	if (add_times(options, step, r, e))
		return options;
	json_decref(options);
	return NULL;
}

/* Returns the first running step of the answer. */
static const json_t *running_step(const json_t *job)
{
	const json_t *step;
	size_t i;

	json_array_foreach (json_object_get(job, "steps"), i, step) {
		if (!strcmp(format_text(step, "state"), "running") && number_of(step, "attempt") > 0)
			return step;
	}
	return NULL;
}

/* Request `show` of the job until its step runs: a program of the step may call this before the database knows that the step
 * runs. Returns the answer; NULL after a refusal. */
static json_t *ask_for_job(const char *word, bool patiently)
{
	const char *own = getenv("ROTA_STEP_LABEL");
	bool is_own = own && strcmp(own, word) == 0;

	for (int left = is_own ? LOOKS_MOST : 1;; left--) {
		json_t *request = json_pack("{s:[s], s:b}", "jobs", word, "elements", true);
		json_t *answer = patiently ? call_gate_patiently("show", request) : call_gate("show", request);

		if (!answer || left <= 1 || running_step(json_array_get(json_object_get(answer, "jobs"), 0)))
			return answer;
		json_decref(answer);
		usleep(LOOK_USEC);
	}
}

json_t *growth_submit(const char *word, const struct growth_request *r, int *status)
{
	json_t *answer = ask_for_job(word, r->key != NULL), *options, *request;
	const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0), *step = running_step(job);
	struct err e = {0};

	*status = EXIT_OK;
	if (!answer) {
		*status = call_status();
		return NULL;
	}
	if (!step)
		err_set(&e, "no step of %s runs; only a step that runs can grow", word);
	options = step ? growth_options(job, step, r, &e) : NULL;
	request = options ? holder_request("grow", "grow", options, r->key, &e) : NULL;
	json_decref(answer);
	if (!request) {
		*status = call_refuse(&e);
		return NULL;
	}
	answer = call_gate_patiently("submit", request);
	if (!answer)
		*status = call_status();
	else
		submit_options_warn(json_object_get(answer, "warnings"));
	return answer;
}
