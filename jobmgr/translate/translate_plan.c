/* translate_plan.c - the plan as JSON: job, steps and edges, resolved.
 *
 * Called last, where there was no problem; translate_modify uses the parts. What always holds: every member of the plan is
 * there in every plan, null where nothing was said. */
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_value.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/order.h"

/* A step's value, shared with the setting; `otherwise` (taken over) where there is none. */
static json_t *value_or(struct translation *t, const struct translate_step *s, enum option_id id, json_t *otherwise)
{
	json_t *value = translate_value(t, s, id);
	if (!value)
		return otherwise;
	json_decref(otherwise);
	return json_incref(value);
}

static json_t *number_or_null(int64_t number)
{
	return number ? json_integer(number) : json_null();
}

static json_t *gres_json(struct translation *t, const struct translate_step *s)
{
	json_t *gres = json_object(), *asked = translate_value(t, s, OPTION_ID_GRES);
	int64_t gpus = translate_number(t, s, OPTION_ID_GPUS_PER_NODE, 0);
	if (asked)
		json_object_update(gres, asked);
	if (gpus)
		option_put(gres, "gpu", json_integer(gpus));
	return gres;
}

static void put_memory(struct translation *t, json_t *json, const struct translate_step *s)
{
	int which = translate_rival(t, s, OPTION_ID_MEM, OPTION_ID_MEM_PER_CPU);
	const struct translate_setting *mem = which == OPTION_ID_MEM ? translate_get(t, s, OPTION_ID_MEM, NULL) : NULL;
	int64_t size = mem ? json_integer_value(mem->value) : 0;
	if (mem && mem->total)
		size = (size + s->nodes_min - 1) / s->nodes_min;
	option_put(json, "mem_mb", number_or_null(size));
	option_put(json, "mem_per_cpu_mb",
		   which == OPTION_ID_MEM_PER_CPU ? json_incref(translate_value(t, s, OPTION_ID_MEM_PER_CPU)) : json_null());
}

static json_t *keep_json(void)
{
	return json_pack("{s:b, s:b, s:b, s:b}", "cpus", 0, "mem", 1, "gres", 1, "licenses", 1);
}

static void put_place(struct translation *t, json_t *json, const struct translate_step *s)
{
	option_put(json, "partition", value_or(t, s, OPTION_ID_PARTITION, json_null()));
	option_put(json, "nodes_min", json_integer(s->nodes_min));
	option_put(json, "nodes_max", number_or_null(s->nodes_max));
	option_put(json, "ntasks", json_integer(s->ntasks));
	option_put(json, "ntasks_per_node", number_or_null(s->ntasks_per_node));
	option_put(json, "cpus_per_task", json_integer(s->cpus_per_task));
	put_memory(t, json, s);
	option_put(json, "gres", gres_json(t, s));
	option_put(json, "licenses", value_or(t, s, OPTION_ID_LICENSES, json_object()));
	option_put(json, "exclusive", value_or(t, s, OPTION_ID_EXCLUSIVE, json_false()));
	option_put(json, "constraint", value_or(t, s, OPTION_ID_CONSTRAINT, json_string("")));
	option_put(json, "nodelist", value_or(t, s, OPTION_ID_NODELIST, json_array()));
	option_put(json, "exclude", value_or(t, s, OPTION_ID_EXCLUDE, json_array()));
}

/* The lines of options that only the database can judge, as far as they are given: {"licenses": 3}; 0 = command line. */
static json_t *lines_json(const struct translation *t, const struct translate_step *s, const enum option_id *ids, size_t count)
{
	json_t *lines = json_object();
	for (size_t i = 0; i < count; i++) {
		const struct translate_setting *setting = translate_get(t, s, ids[i], NULL);
		if (setting)
			option_put(lines, option_row(ids[i])->name, json_integer(setting->line));
	}
	return lines;
}

json_t *translate_step_json(struct translation *t, const struct translate_step *s, json_t *spec)
{
	static const enum option_id judged[] = {OPTION_ID_PARTITION, OPTION_ID_TIME, OPTION_ID_LICENSES, OPTION_ID_NODELIST,
						OPTION_ID_EXCLUDE,   OPTION_ID_SAMPLE};
	json_t *json = json_object();
	bool bound = s->with != (int)(s - t->steps) || s->next_with >= 0;
	option_put(json, "step_id", json_integer(s->id));
	option_put(json, "name", json_string(s->name));
	option_put(json, "line", json_integer(s->line));
	option_put(json, "lines", lines_json(t, s, judged, sizeof judged / sizeof *judged));
	option_put(json, "topo", json_integer(s->topo));
	put_place(t, json, s);
	option_put(json, "time_limit_s", value_or(t, s, OPTION_ID_TIME, json_null()));
	option_put(json, "time_min_s", value_or(t, s, OPTION_ID_TIME_MIN, json_null()));
	option_put(json, "begin_at", value_or(t, s, OPTION_ID_BEGIN, json_null()));
	option_put(json, "deadline_at", value_or(t, s, OPTION_ID_DEADLINE, json_null()));
	option_put(json, "array", value_or(t, s, OPTION_ID_ARRAY, json_null()));
	option_put(json, "requeue", value_or(t, s, OPTION_ID_REQUEUE, json_true()));
	option_put(json, "retry", value_or(t, s, OPTION_ID_RETRY, json_integer(0)));
	option_put(json, "sample_s", value_or(t, s, OPTION_ID_SAMPLE, json_null()));
	option_put(json, "hold", value_or(t, s, OPTION_ID_HOLD, json_false()));
	option_put(json, "group", value_or(t, s, OPTION_ID_GROUP, json_null()));
	option_put(json, "keep", value_or(t, s, OPTION_ID_KEEP, keep_json()));
	option_put(json, "deps_any", json_boolean(s->deps_any));
	option_put(json, "with_set", bound ? json_integer(t->steps[s->with].id) : json_null());
	option_put(json, "spec", spec);
	return json;
}

static json_t *edge_json(const struct translation *t, const struct translate_edge *edge)
{
	json_t *json = json_object();
	option_put(json, "step_id", json_integer(t->steps[edge->step].id));
	option_put(json, "kind", json_string(translate_kind_name(edge->kind)));
	option_put(json, "peer_job", number_or_null(edge->peer_job));
	option_put(json, "peer_step", edge->peer >= 0 ? json_integer(t->steps[edge->peer].id) : json_null());
	option_put(json, "peer_name", edge->peer_name ? json_string(edge->peer_name) : json_null());
	option_put(json, "condition", json_string(translate_condition_name(edge->condition)));
	option_put(json, "line", json_integer(edge->line));
	return json;
}

/* Members of the plan's job that options say; what is missing where nobody gave them. */
static const struct {
	enum option_id id;
	const char *otherwise; /* JSON */
} job_members[] = {
	{OPTION_ID_JOB_NAME, NULL},  {OPTION_ID_ACCOUNT, "null"},   {OPTION_ID_QOS, "null"},
	{OPTION_ID_COMMENT, "null"}, {OPTION_ID_MAIL_USER, "null"}, {OPTION_ID_MAIL_TYPE, "null"},
	{OPTION_ID_NICE, "0"},	     {OPTION_ID_PRIORITY, "null"},  {OPTION_ID_EXPORT, "\"ALL\""},
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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return *name ? name : "script";
}

static json_t *job_json(struct translation *t)
{
	const struct translate_request *q = t->request;
	static const enum option_id judged[] = {OPTION_ID_ACCOUNT, OPTION_ID_QOS, OPTION_ID_PRIORITY, OPTION_ID_NICE};
	const struct translate_step nobody = {0};
	const char *workdir = json_string_value(translate_value(t, &nobody, OPTION_ID_WORKDIR));
	char *folder = translate_path(t, q->workdir, workdir ? workdir : q->workdir);
	json_t *job = json_object();
	option_put(job, "name", json_string(base_name(q->script_name)));
	translate_job_json(t, job, false);
	option_put(job, "lines", lines_json(t, &nobody, judged, sizeof judged / sizeof *judged));
	option_put(job, "client_key", q->client_key ? json_string(q->client_key) : json_null());
	option_put(job, "retry_key", q->retry_key ? json_string(q->retry_key) : json_null());
	option_put(job, "script_name", json_string(q->script_name));
	option_put(job, "workdir", json_string(folder));
	option_put(job, "sequence", json_boolean(t->sequence));
	free(folder);
	return job;
}

/* The lines of a step, and the preamble: all before the first step, the #! line included. */
static struct order_spec lines_of(const struct translation *t, const struct translate_step *s)
{
	struct order_spec spec = {.from = s->line, .to = s->last_line, .umask = t->request->umask};
	spec.rlimits = t->request->rlimits ? t->request->rlimits : "";
	spec.pre_from = t->has_steps ? 1 : 0;
	spec.pre_to = t->has_steps ? t->header_last : 0;
	return spec;
}

json_t *translate_plan(struct translation *t)
{
	json_t *plan = json_object(), *job = job_json(t), *steps = json_array(), *edges = json_array();
	const char *name = json_string_value(json_object_get(job, "name"));
	const char *account = json_string_value(json_object_get(job, "account"));
	for (int i = 0; i < t->step_count; i++) {
		struct order_spec base = lines_of(t, &t->steps[i]);
		json_t *spec = translate_spec(t, &t->steps[i], &base, name, account ? account : "");
		option_append(steps, translate_step_json(t, &t->steps[i], spec));
	}
	for (int i = 0; i < t->edge_count; i++)
		option_append(edges, edge_json(t, &t->edges[i]));
	option_put(plan, "job", job);
	option_put(plan, "steps", steps);
	option_put(plan, "edges", edges);
	return plan;
}
