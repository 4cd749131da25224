/* gate_job.c - makes of the request for one job of a submission a plan, an environment, and an authenticator for each step.
 *
 * Called by: gate_submit.c.
 * Invariants:
 * - The owner of a job is the user whom the credential of the request names.
 * - The authenticator of a step covers its spec and the owner, the script, the environment and the number of its job. */
#include "jobmgr/gate/gate_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "jobmgr/gate/gate_request.h"
#include "jobmgr/gate/gate_site.h"
#include "jobmgr/sign/sign.h"
#include "jobmgr/site/site_desc.h"
#include "lib/mail.h"
#include "lib/text.h"

enum { GATE_JOB_LINE_MOST = 4096 };

json_t *gate_job_script(const struct gate_job *job)
{
	return job->changes.script ? job->changes.script : json_object_get(job->request, "script");
}

char *gate_job_script_name(const struct gate_job *job)
{
	const char *name = json_string_value(json_object_get(job->request, "script_name"));

	return xasprintf("%s%s", name ? name : "script", job->changes.script ? " (changed by the site's script)" : "");
}

json_t *gate_job_request(const json_t *own, const json_t *common)
{
	json_t *whole = json_copy((json_t *)common), *value;
	const char *name;

	json_object_del(whole, "jobs");
	json_object_foreach ((json_t *)own, name, value)
		if (!json_is_null(value))
			json_object_set(whole, name, value);
	return whole;
}

/* Read the umask of a submission: a number, or octal digits. */
static bool job_read_umask(const json_t *request, int *mask, struct err *e)
{
	const json_t *value = gate_request_member(request, "umask");
	const char *text = json_string_value(value);
	char *end = NULL;
	long number = 022;

	if (text)
		number = strtol(text, &end, 8);
	else if (value)
		number = json_is_integer(value) ? (long)json_integer_value(value) : -1;
	if ((text && (end == text || *end)) || number < 0 || number > 0777)
		return gate_refuse(e, "RT422", "\"umask\" must be octal digits, or a number from 0 to 511");
	*mask = (int)number;
	return true;
}

/* Read a submission's members for the translator, except for the environment. `options` and `arguments` are malloc'ed. */
static bool job_read_request(const json_t *request, struct translate_request *r, const char ***options, const char ***arguments,
			     struct err *e)
{
	if (!gate_request_check_members(request, GATE_JOB_MEMBERS, e) ||
	    !gate_request_texts(request, "options", options, &r->option_count, e) ||
	    !gate_request_texts(request, "arguments", arguments, &r->argument_count, e) ||
	    !gate_request_text(request, "script", NULL, &r->script, e) ||
	    !gate_request_text(request, "script_name", "script", &r->script_name, e) ||
	    !gate_request_text(request, "workdir", NULL, &r->workdir, e) ||
	    !gate_request_text(request, "rlimits", "", &r->rlimits, e) ||
	    !gate_request_text(request, "client_key", NULL, &r->client_key, e) ||
	    !gate_request_text(request, "retry_key", NULL, &r->retry_key, e) || !job_read_umask(request, &r->umask, e))
		return false;
	r->options = *options;
	r->arguments = *arguments;
	if (!r->script)
		return gate_refuse(e, "RT422", "the request has no member \"script\"");
	if (!r->workdir || *r->workdir != '/')
		return gate_refuse(e, "RT422", "\"workdir\" must be an absolute path");
	r->size = json_string_length(json_object_get(request, "script"));
	return true;
}

/* Returns the environment of a submission as a list of "NAME=value". */
static json_t *job_read_environment(const json_t *request, struct err *e)
{
	json_t *given = gate_request_member(request, "environment"), *value, *list;
	const char *name;
	size_t i;

	list = json_is_array(given) ? json_incref(given) : json_array();
	if (given && !json_is_array(given) && !json_is_object(given))
		goto bad;
	json_array_foreach (given, i, value)
		if (!json_is_string(value))
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

static size_t job_environment_size(const json_t *list)
{
	size_t size = 0, i;
	const json_t *value;

	json_array_foreach (list, i, value)
		size += json_string_length(value) + 1;
	return size;
}

/* Pack the "NAME=value" strings of the job's environment, each with its NUL, as database and node read them. A string without a
 * name is left out. */
static void job_pack_environment(struct gate_job *job, const json_t *list)
{
	const json_t *value;
	size_t i;

	job->environment = xmalloc(job_environment_size(list) + 1);
	job->environment_size = 0;
	json_array_foreach (list, i, value) {
		const char *text = json_string_value(value), *sign = text ? strchr(text, '=') : NULL;

		if (!sign || sign == text)
			continue;
		memcpy(job->environment + job->environment_size, text, json_string_length(value) + 1);
		job->environment_size += json_string_length(value) + 1;
	}
}

/* Returns the value of the job's option --export. */
static const char *job_export_list(const struct gate_job *job)
{
	const char *list = json_string_value(json_object_get(json_object_get(job->plan, "job"), "export"));

	return list ? list : "ALL";
}

/* Returns the environment with the changes of the site's script: a new list that replaces `list`. */
static json_t *job_change_environment(const struct gate_job *job, json_t *list)
{
	json_t *changed = json_array(), *variable, *value;
	const char *name;
	size_t i;

	json_array_foreach (list, i, variable) {
		const char *text = json_string_value(variable);
		char *own = xstrndup(text, strcspn(text, "="));

		if (!json_object_get(job->changes.environment, own))
			json_array_append(changed, variable);
		free(own);
	}
	json_object_foreach (job->changes.environment, name, value)
		if (json_is_string(value))
			json_array_append_new(changed, json_sprintf("%s=%s", name, json_string_value(value)));
	json_decref(list);
	return changed;
}

/* Set the job's environment to the variables that --export selects, and those that the site's script sets. It stays NULL if it
 * equals the environment of the job before in the list. */
static bool job_export_environment(struct gate_job *job, const struct gate_job *before, struct err *e)
{
	json_t *environment, *exported;

	if (before && !job->changes.environment && !before->changes.environment &&
	    json_object_get(before->request, "environment") == json_object_get(job->request, "environment") &&
	    strcmp(job_export_list(before), job_export_list(job)) == 0) {
		memcpy(job->environment_hash, before->environment_hash, sizeof job->environment_hash);
		return true;
	}
	environment = job_read_environment(job->request, e);
	if (!environment)
		return false;
	job->size += job_environment_size(environment);
	exported = translate_export(job_export_list(job), environment, e);
	json_decref(environment);
	if (!exported) {
		snprintf(e->code, sizeof e->code, "RT422");
		return false;
	}
	if (job->changes.environment)
		exported = job_change_environment(job, exported);
	job_pack_environment(job, exported);
	json_decref(exported);
	seal_hash_hex(job->environment, job->environment_size, job->environment_hash);
	return true;
}

/* Store the command line of the submission with the job, shortened and without control characters. */
static bool job_keep_line(struct gate_job *job, struct err *e)
{
	const char *given;
	char *line;

	if (!gate_request_text(job->request, "submit_line", NULL, &given, e))
		return false;
	if (!given)
		return true;
	line = xstrdup(given);
	text_cut(line, GATE_JOB_LINE_MOST);
	text_clean(line);
	for (char *c = line; (c = strpbrk(c, "\t\n"));)
		*c = ' ';
	json_object_set_new(json_object_get(job->plan, "job"), "submit_line", json_string(line));
	free(line);
	return true;
}

/* Delete empty members of a JSON object, since the database reads empty members as absent ones. */
static void job_delete_empty(json_t *object)
{
	json_t *value;
	const char *key;
	void *next;

	json_object_foreach_safe(object, next, key, value)
	{
		if (json_is_null(value) ||
		    ((json_is_object(value) || json_is_array(value)) && !json_object_size(value) && !json_array_size(value)))
			json_object_del(object, key);
	}
}

/* Add a warning if the job requests mail and this instance has no program to send mail. */
static void job_warn_mail(const struct gate_call *c, struct gate_job *job)
{
	const char *types = json_string_value(json_object_get(json_object_get(job->plan, "job"), "mail_type"));
	char *message;

	if (!types || strstr(types, "NONE") || mail_can_send(c->server->conf))
		return;
	message = xasprintf(
		"no mail will be sent: the instance's mail program \"%s\" is not an executable file (mail.program in rota.conf)",
		c->server->conf->mail_program);
	if (!job->warnings)
		job->warnings = json_array();
	json_array_append_new(job->warnings, json_pack("{sn si ss ss sn}", "file", "line", 0, "option", "--mail-type", "message",
						       message, "hint"));
	free(message);
}

/* Free plan and environment. */
static void job_clear_plan(struct gate_job *job)
{
	json_decref(job->plan);
	json_decref(job->warnings);
	free(job->environment);
	job->plan = NULL;
	job->warnings = NULL;
	job->environment = NULL;
}

void gate_job_clear(struct gate_job *job)
{
	job_clear_plan(job);
	json_decref(job->desc);
	json_decref(job->messages);
	site_changes_clear(&job->changes);
	job->desc = NULL;
	job->messages = NULL;
}

bool gate_job_describe(const struct gate_call *c, struct gate_job *job, struct translate_problems *problems, struct err *e)
{
	struct translate_request request = {.home = c->credential->home, .now = job->now = translate_now()};
	struct site_subject subject = {.uid = c->credential->uid, .gid = c->credential->gid, .user = c->credential->user};
	const char **options = NULL, **arguments = NULL;
	json_t *described = NULL, *environment = NULL;

	if (job_read_request(job->request, &request, &options, &arguments, e))
		described = translate_describe(&request, c->server->limits, problems);
	if (described)
		environment = job_read_environment(job->request, e);
	if (environment) {
		subject.workdir = request.workdir;
		subject.script = json_object_get(job->request, "script");
		subject.arguments = json_object_get(job->request, "arguments");
		subject.environment = environment;
		json_decref(job->desc);
		job->desc = site_desc(described, &subject);
	}
	json_decref(environment);
	json_decref(described);
	free(options);
	free(arguments);
	return environment;
}

bool gate_job_change(struct gate_job *job, const json_t *changes, const json_t *texts, struct err *e)
{
	bool good = !changes || site_changes_read(&job->changes, job->desc, NULL, changes, job->now, e);

	gate_site_add_texts(&job->messages, texts);
	json_decref(job->desc); /* `desc` has the whole environment, which is large */
	job->desc = NULL;
	return good;
}

bool gate_job_plan(const struct gate_call *c, struct gate_job *job, const struct gate_job *before,
		   struct translate_problems *problems, struct err *e)
{
	const struct conf *conf = c->server->conf;
	struct translate_request request = {.home = c->credential->home,
					    .now = job->now ? job->now : translate_now(),
					    .changes = job->changes.list,
					    .change_count = job->changes.count,
					    .directive = *conf->hooks_burst_buffer ? conf->hooks_directive : "",
					    .scratch = conf->staging_scratch,
					    .scratch_is_shared = strcmp(conf->staging_shared, "yes") == 0,
					    .mover_partition = conf->staging_partition,
					    .mover_command = conf->staging_command};
	const char **options = NULL, **arguments = NULL;
	char uid[16];
	snprintf(uid, sizeof uid, "%u", (unsigned)c->credential->uid);
	request.credentials =
		json_string_value(json_object_get(json_object_get(c->server->limits->facts, "credential_defaults"), uid));
	bool ok = job_read_request(job->request, &request, &options, &arguments, e);

	if (job->changes.script) {
		request.script = json_string_value(job->changes.script);
		request.size = json_string_length(job->changes.script);
	}
	job_clear_plan(job);
	job->size = request.size;
	if (ok)
		job->plan = translate_script(&request, c->server->limits, problems);
	job->warnings = json_incref(json_object_get(job->plan, "warnings"));
	json_object_del(job->plan, "warnings");
	job_warn_mail(c, job);
	ok = job->plan && job_export_environment(job, before, e) && job_keep_line(job, e);
	if (ok) {
		json_object_set(json_object_get(job->plan, "job"), "groups", c->credential->groups);
		if (job->changes.kept)
			json_object_set(json_object_get(job->plan, "job"), "changes", job->changes.kept);
		job_delete_empty(json_object_get(job->plan, "job"));
		job_delete_empty(json_object_get(job->plan, "common"));
	}
	free(options);
	free(arguments);
	return ok;
}

void gate_job_authenticate(const struct gate_call *c, const struct gate_job *job, int64_t number)
{
	const json_t *text = gate_job_script(job);
	char script[SEAL_HEX_SIZE], hex[SEAL_HEX_SIZE];
	json_t *step;
	size_t i;

	seal_hash_hex(json_string_value(text), json_string_length(text), script);
	json_array_foreach (json_object_get(job->plan, "steps"), i, step) {
		char *spec = translate_plan_spec(job->plan, step);

		sign_authenticator(c->server->key,
				   &(struct sign_subject){.uid = c->credential->uid,
							  .gid = c->credential->gid,
							  .user = c->credential->user,
							  .script_hash = script,
							  .environment_hash = job->environment_hash,
							  .spec = spec,
							  .number = number},
				   hex);
		free(spec);
		json_object_set_new(step, "auth", json_string(hex));
	}
	json_object_set_new(json_object_get(job->plan, "job"), "job_id", json_integer(number));
}
