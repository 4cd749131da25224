/* translate_plan.c - writes the plan as JSON: job, steps and edges.
 *
 * Called by: translate.c, as the last stage, if there is no problem.
 * Invariants:
 * - Members that most steps have in common are in the plan once. A step has only members in which it differs.
 *   translate_plan_whole gives each step and edge all members. */
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/arguments.h"
#include "lib/order.h"

static json_t *plan_make_edge(const struct translation *t, const struct translate_edge *edge)
{
	json_t *json = json_object();
	option_put(json, "step_id", json_integer(t->steps[edge->step].id));
	option_put(json, "kind", json_string(translate_kind_name(edge->kind)));
	if (edge->peer_job)
		option_put(json, "peer_job", json_integer(edge->peer_job));
	if (edge->peer >= 0)
		option_put(json, "peer_step", json_integer(t->steps[edge->peer].id));
	if (edge->peer_name)
		option_put(json, "peer_name", json_string(edge->peer_name));
	option_put(json, "condition", json_string(translate_condition_name(edge->condition)));
	option_put(json, "line", json_integer(edge->line));
	return json;
}

/* Members of the plan's job that options set, and their defaults. */
static const struct {
	enum option_id id;
	const char *otherwise; /* default value of the member, as JSON */
} job_members[] = {
	{OPTION_ID_JOB_NAME, NULL},    {OPTION_ID_ACCOUNT, "null"},   {OPTION_ID_QOS, "null"}, {OPTION_ID_COMMENT, "null"},
	{OPTION_ID_MAIL_USER, "null"}, {OPTION_ID_MAIL_TYPE, "null"}, {OPTION_ID_NICE, "0"},   {OPTION_ID_PRIORITY, "null"},
	{OPTION_ID_EXPORT, "\"ALL\""}, {OPTION_ID_GROW, NULL},
};

void translate_job_json(struct translation *t, json_t *job, bool only_given)
{
	const struct translate_step nobody = {0};
	for (size_t i = 0; i < sizeof job_members / sizeof *job_members; i++) {
		json_t *value = translate_value(t, &nobody, job_members[i].id);
		if (value)
			option_put(job, option_row(job_members[i].id)->key, json_incref(value));
		else if (!only_given && job_members[i].otherwise)
			option_put(job, option_row(job_members[i].id)->key,
				   json_loads(job_members[i].otherwise, JSON_DECODE_ANY, NULL));
	}
}

const char *translate_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return *name ? name : "script";
}

static json_t *plan_make_arguments(const struct translate_request *q)
{
	json_t *list = json_array();
	for (int i = 0; i < q->argument_count; i++)
		option_append(list, json_string(q->arguments[i]));
	return list;
}

/* Does any step of the plan need credentials? */
static bool plan_needs_credentials(const struct translation *t)
{
	for (int i = 0; i < t->step_count; i++) {
		char *names = translate_credentials(t, &t->steps[i]);
		free(names);
		if (names)
			return true;
	}
	return false;
}

static json_t *plan_make_job(struct translation *t)
{
	const struct translate_request *q = t->request;
	static const enum option_id judged[] = {OPTION_ID_ACCOUNT, OPTION_ID_QOS, OPTION_ID_PRIORITY, OPTION_ID_NICE};
	const struct translate_step nobody = {0};
	const char *workdir = json_string_value(translate_value(t, &nobody, OPTION_ID_WORKDIR));
	char *folder = translate_path(t, q->workdir, workdir ? workdir : q->workdir);
	json_t *job = json_object(), *written = translate_written_json(t);
	option_put(job, "name", json_string(translate_base_name(q->script_name)));
	translate_job_json(t, job, false);
	option_put(job, "lines", translate_lines_json(t, &nobody, judged, sizeof judged / sizeof *judged));
	if (written)
		option_put(job, "written", written);
	option_put(job, "client_key", q->client_key ? json_string(q->client_key) : json_null());
	option_put(job, "retry_key", q->retry_key ? json_string(q->retry_key) : json_null());
	option_put(job, "script_name", json_string(q->script_name));
	option_put(job, "workdir", json_string(folder));
	option_put(job, "sequence", json_boolean(t->sequence));
	if (q->argument_count > 0)
		option_put(job, "arguments", plan_make_arguments(q));
	translate_staging_json(t, job);
	translate_transfers_json(t, job);
	if (plan_needs_credentials(t)) {
		option_put(job, "credentials", json_true());
		option_put(job, "forward", translate_forwards(t));
	}
	free(folder);
	return job;
}

/* Returns a spec with the line numbers of a step and of the preamble. The preamble is all lines before the first step, the #!
 * line included. */
static struct order_spec plan_base_spec(const struct translation *t, const struct translate_step *s)
{
	struct order_spec spec = {.from = s->line, .to = s->last_line, .umask = t->request->umask};
	spec.rlimits = t->request->rlimits ? t->request->rlimits : "";
	spec.pre_from = t->has_steps ? 1 : 0;
	spec.pre_to = t->has_steps ? t->header_last : 0;
	spec.arguments = t->arguments;
	return spec;
}

static json_t *plan_make_spec_end(struct translation *t, const struct translate_step *s, const json_t *job)
{
	struct order_spec base = plan_base_spec(t, s);
	const char *name = json_string_value(json_object_get(job, "name"));
	const char *account = json_string_value(json_object_get(job, "account"));
	return translate_spec_end(t, s, &base, name, account ? account : "");
}

/* Returns the start in `a` of the whole lines with which both texts end. */
static const char *plan_find_shared_end(const char *a, const char *b)
{
	const char *at = a + strlen(a), *of = b + strlen(b), *found = at;
	while (at > a && of > b && at[-1] == of[-1]) {
		at--;
		of--;
		if ((at == a || at[-1] == '\n') && (of == b || of[-1] == '\n'))
			found = at;
	}
	return found;
}

static bool plan_begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Write into a step's JSON that part of its spec that the plan's "spec_end" does not have. */
static void plan_put_spec(struct translation *t, json_t *json, const struct translate_step *s, const json_t *plan)
{
	json_t *end = plan_make_spec_end(t, s, json_object_get(plan, "job"));
	const char *text = json_string_value(end), *all = json_string_value(json_object_get(plan, "spec_end"));
	const char *own = json_string_value(json_object_get(json, "spec")), *shared = plan_find_shared_end(text, all);
	json_int_t characters = 0;
	if (strcmp(shared, all) != 0) {
		for (const char *c = shared; *c; c++)
			characters += plan_begins_character(*c);
		option_put(json, "spec_end", json_integer(characters));
	}
	option_put(json, "spec", json_sprintf("%s%.*s", own, (int)(shared - text), text));
	json_decref(end);
}

/* Returns those members of a step that are never in the plan's "common". */
static json_t *plan_make_own(const struct translation *t, const struct translate_step *s)
{
	struct order_spec base = plan_base_spec(t, s);
	json_t *json = json_object();
	option_put(json, "step_id", json_integer(s->id));
	option_put(json, "name", json_string(s->name));
	option_put(json, "line", json_integer(s->line));
	option_put(json, "topo", json_integer(s->topo));
	option_put(json, "spec", translate_spec_own(t, s, &base));
	if (s->deps_any)
		option_put(json, "deps_any", json_true());
	if (s->with != (int)(s - t->steps) || s->next_with >= 0)
		option_put(json, "with_set", json_integer(t->steps[s->with].id));
	return json;
}

/* Returns a step as a member of the plan. The plan must have "common" and "spec_end" already. */
static json_t *plan_make_step(struct translation *t, const struct translate_step *s, const struct translate_step *usual,
			      const json_t *plan)
{
	json_t *json = plan_make_own(t, s), *value;
	const json_t *common = json_object_get(plan, "common");
	const char *key;
	if (translate_step_asks_alike(s, usual))
		return json;
	json_t *asked = translate_step_asks(t, s);
	json_object_foreach (asked, key, value)
		if (!json_equal(value, json_object_get(common, key)))
			option_put(json, key, json_incref(value));
	json_decref(asked);
	plan_put_spec(t, json, s, plan);
	return json;
}

/* Returns the step that the plan's "common" is made of: the first step whose own line requests nothing and whose nodes no other
 * step determines. */
static const struct translate_step *plan_find_usual_step(const struct translation *t)
{
	for (int i = 0; i < t->step_count; i++)
		if (t->steps[i].same == i && translate_step_asks_nothing(&t->steps[i]))
			return &t->steps[i];
	return t->steps;
}

json_t *translate_plan(struct translation *t)
{
	const struct translate_step *usual = plan_find_usual_step(t);
	t->arguments = arguments_write(t->request->arguments, t->request->argument_count);
	json_t *plan = json_object(), *job = plan_make_job(t), *common = translate_step_asks(t, usual), *steps = json_array(),
	       *edges = json_array();
	option_put(common, "deps_any", json_false());
	option_put(common, "with_set", json_null());
	option_put(plan, "job", job);
	option_put(plan, "spec_end", plan_make_spec_end(t, usual, job));
	option_put(plan, "common", common);
	for (int i = 0; i < t->step_count; i++)
		option_append(steps, plan_make_step(t, &t->steps[i], usual, plan));
	for (int i = 0; i < t->edge_count; i++)
		option_append(edges, plan_make_edge(t, &t->edges[i]));
	option_put(plan, "steps", steps);
	option_put(plan, "edges", edges);
	if (t->warnings.count > 0)
		option_put(plan, "warnings", translate_warnings_json(t));
	return plan;
}

char *translate_plan_spec(const json_t *plan, const json_t *step)
{
	const json_t *own = json_object_get(step, "spec_end");
	const char *all = json_string_value(json_object_get(plan, "spec_end")), *from = all;
	if (own) {
		from += strlen(all);
		for (json_int_t left = json_integer_value(own); left > 0; left -= plan_begins_character(*from))
			from--;
	}
	return xasprintf("%s%s", json_string_value(json_object_get(step, "spec")), from);
}

void translate_plan_whole(json_t *plan)
{
	static const char *const peer[] = {"peer_job", "peer_step", "peer_name"};
	json_t *step, *edge;
	size_t i;
	json_array_foreach (json_object_get(plan, "steps"), i, step) {
		char *spec = translate_plan_spec(plan, step);
		option_put(step, "spec", json_string(spec));
		free(spec);
		if (json_object_update_missing(step, json_object_get(plan, "common")) != 0)
			die("out of memory");
		json_object_del(step, "spec_end");
	}
	json_array_foreach (json_object_get(plan, "edges"), i, edge)
		for (size_t j = 0; j < sizeof peer / sizeof *peer; j++)
			if (!json_object_get(edge, peer[j]))
				option_put(edge, peer[j], json_null());
	json_object_del(plan, "common");
	json_object_del(plan, "spec_end");
}
