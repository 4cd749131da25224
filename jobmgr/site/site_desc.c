/* site_desc.c - writes a job, a stored job and the partitions for the site's script job_submit (site_desc.h).
 *
 * Called by: gate_site_job.c, gate_site_modify.c.
 * Invariants:
 * - Names and units of fields are Slurm's. docs/hooks.md lists them. */
#include "jobmgr/site/site_desc.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/site/site_value.h"
#include "jobmgr/translate/option_item.h"

static const struct {
	const char *name, *option;
	enum site_kind kind;
} fields[] = {
#define FIELD(name, option, kind) {#name, option, SITE_##kind},
#include "jobmgr/site/field.def"
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void desc_put(json_t *desc, const char *name, json_t *value)
{
	if (json_is_null(value))
		json_decref(value);
	else
		option_put(desc, name, value);
}

static int64_t desc_number(const json_t *options, const char *name, int64_t otherwise)
{
	const json_t *value = json_object_get(options, name);
	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* Set the fields of the numbers of nodes and of memory: --nodes and --mem have several fields each. */
static void desc_put_sizes(json_t *desc, const json_t *options)
{
	const json_t *nodes = json_object_get(options, "nodes");
	int64_t of_node = desc_number(options, "mem", -1), of_cpu = desc_number(options, "mem-per-cpu", -1);
	if (nodes) {
		option_put(desc, "min_nodes", json_incref(json_array_get(nodes, 0)));
		option_put(desc, "max_nodes", json_incref(json_array_get(nodes, 1)));
	}
	if (of_cpu >= 0) {
		option_put(desc, "pn_min_memory", json_real(SITE_MEM_PER_CPU + (double)of_cpu));
		option_put(desc, "min_mem_per_cpu", json_integer(of_cpu));
	} else if (of_node >= 0) {
		option_put(desc, "pn_min_memory", json_integer(of_node));
		option_put(desc, "min_mem_per_node", json_integer(of_node));
	}
}

/* Returns a copy of the options in which --gpus-per-node is part of --gres, and --after takes the name --dependency, as in the
 * fields of Slurm. */
static json_t *desc_merge_options(const json_t *options)
{
	json_t *merged = json_copy((json_t *)options), *gpus = json_object_get(options, "gpus-per-node"),
	       *after = json_object_get(options, "after"), *gres;
	if (gpus) {
		gres = json_object_get(options, "gres") ? json_copy(json_object_get(options, "gres")) : json_object();
		option_put(gres, "gpu", json_incref(gpus));
		option_put(merged, "gres", gres);
	}
	if (after)
		option_put(merged, "dependency", json_incref(after));
	return merged;
}

/* Set the fields of `desc` that stand for options. If `given`, skip the options that the user did not give. */
static void desc_put_fields(json_t *desc, const json_t *options, bool given)
{
	json_t *merged = desc_merge_options(options), *gpus = json_object_get(options, "gpus");
	for (int i = 0; i < FIELDS; i++) {
		const json_t *value = json_object_get(merged, fields[i].option);
		if (value || !given)
			desc_put(desc, fields[i].name, site_value_read(fields[i].kind, value));
	}
	desc_put_sizes(desc, merged);
	if (gpus)
		option_put(desc, "tres_per_job", json_sprintf("gres:gpu:%lld", (long long)json_integer_value(gpus)));
	json_decref(merged);
}

static json_t *desc_make_steps(const json_t *steps)
{
	json_t *list = json_array();
	const json_t *step;
	size_t i;
	json_array_foreach (steps, i, step) {
		json_t *one = json_object();
		desc_put_fields(one, json_object_get(step, "options"), true);
		option_put(one, "name", json_incref(json_object_get(step, "name")));
		option_put(one, "line", json_incref(json_object_get(step, "line")));
		option_append(list, one);
	}
	return list;
}

static json_t *desc_make_environment(const json_t *list)
{
	json_t *environment = json_object();
	const json_t *variable;
	size_t i;
	json_array_foreach (list, i, variable) {
		const char *text = json_string_value(variable), *sign = text ? strchr(text, '=') : NULL;
		char *name = sign && sign > text ? xstrndup(text, (size_t)(sign - text)) : NULL;
		if (name)
			option_put(environment, name, json_string(sign + 1));
		free(name);
	}
	return environment;
}

/* Set the fields of `desc` that the site's script can read and cannot change. */
static void desc_put_subject(json_t *desc, const json_t *options, const struct site_subject *s)
{
	int64_t tasks = desc_number(options, "ntasks", 1), cpus = desc_number(options, "cpus-per-task", 1);
	const json_t *grow = json_object_get(options, "grow");
	option_put(desc, "user_id", json_integer(s->uid));
	option_put(desc, "group_id", json_integer(s->gid));
	option_put(desc, "user_name", json_string(s->user));
	option_put(desc, "min_cpus", json_integer(tasks * cpus));
	if (grow)
		option_put(desc, "grow", json_incref((json_t *)grow));
	if (s->script)
		option_put(desc, "script", json_incref((json_t *)s->script));
	if (s->arguments)
		option_put(desc, "argv", json_incref((json_t *)s->arguments));
	if (s->environment)
		option_put(desc, "environment", desc_make_environment(s->environment));
	if (s->workdir && !json_object_get(desc, "work_dir"))
		option_put(desc, "work_dir", json_string(s->workdir));
}

json_t *site_desc(const json_t *described, const struct site_subject *subject)
{
	const json_t *options = json_object_get(described, "options"), *name = json_object_get(described, "name");
	json_t *desc = json_object();
	desc_put_fields(desc, options, false);
	desc_put_subject(desc, options, subject);
	if (!json_object_get(desc, "name") && json_string_length(name) > 0)
		option_put(desc, "name", json_incref((json_t *)name));
	if (json_array_size(json_object_get(described, "steps")) > 0)
		option_put(desc, "steps", desc_make_steps(json_object_get(described, "steps")));
	return desc;
}

/* Members of a step of api.job_spec and of its "job", and the options that they are values of. */
static const struct {
	const char *member, *option;
} stored[] = {
	{"name", "job-name"},
	{"account", "account"},
	{"qos", "qos"},
	{"comment", "comment"},
	{"priority", "priority"},
	{"nice", "nice"},
	{"mail_user", "mail-user"},
	{"mail_type", "mail-type"},
	{"partition", "partition"},
	{"time_limit_s", "time"},
	{"time_min_s", "time-min"},
	{"begin_at", "begin"},
	{"ntasks", "ntasks"},
	{"ntasks_per_node", "ntasks-per-node"},
	{"cpus_per_task", "cpus-per-task"},
	{"mem_mb", "mem"},
	{"mem_per_cpu_mb", "mem-per-cpu"},
	{"constraint", "constraint"},
	{"nodelist", "nodelist"},
	{"exclude", "exclude"},
	{"reservation", "reservation"},
	{"exclusive", "exclusive"},
	{"requeue", "requeue"},
	{"array", "array"},
	{"gres", "gres"},
	{"licenses", "licenses"},
};

/* Was a stored value of the job asked for? Empty lists and texts stand for options that were not given. */
static bool rec_is_given(const json_t *value)
{
	bool is_empty = (json_is_string(value) && !json_string_length(value)) ||
			(json_is_array(value) && !json_array_size(value)) || (json_is_object(value) && !json_object_size(value));
	return value && !json_is_null(value) && !is_empty;
}

json_t *site_rec(const json_t *step)
{
	json_t *options = json_object(), *rec = json_object();
	const json_t *job = json_object_get(step, "job"), *low = json_object_get(step, "nodes_min"),
		     *high = json_object_get(step, "nodes_max");
	for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
		json_t *value = json_object_get(job, stored[i].member);
		if (!value && strcmp(stored[i].member, "name") != 0)
			value = json_object_get(step, stored[i].member);
		if (rec_is_given(value))
			option_put(options, stored[i].option, json_incref(value));
	}
	if (json_is_integer(low))
		option_put(options, "nodes", json_pack("[O, O]", low, json_is_integer(high) ? high : low));
	desc_put_fields(rec, options, false);
	option_put(rec, "job_id", json_incref(json_object_get(step, "job_id")));
	option_put(rec, "user_id", json_incref(json_object_get(step, "uid")));
	option_put(rec, "group_id", json_incref(json_object_get(step, "gid")));
	option_put(rec, "user_name", json_incref(json_object_get(step, "user")));
	option_put(rec, "step", json_incref(json_object_get(step, "name")));
	json_decref(options);
	return rec;
}

static bool parts_has(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;
	json_array_foreach (list, i, item)
		if (strcmp(json_string_value(item), name) == 0)
			return true;
	return false;
}

/* Do the lists of users and groups of a partition admit a user? Its list of accounts is not checked: the job's account is not
 * known yet. */
static bool parts_is_open(const json_t *partition, const char *user, const json_t *groups)
{
	const json_t *users = json_object_get(partition, "allow_users"), *allowed = json_object_get(partition, "allow_groups"),
		     *group;
	size_t i;
	if (json_is_array(users) && !parts_has(users, user))
		return false;
	if (!json_is_array(allowed))
		return true;
	json_array_foreach (groups, i, group)
		if (parts_has(allowed, json_string_value(group)))
			return true;
	return false;
}

static int parts_state(const char *state)
{
	static const struct {
		const char *state;
		int number; /* Slurm's PARTITION_ numbers: bit 1, the partition takes jobs; bit 2, it starts jobs */
	} states[] = {{"up", 3}, {"down", 1}, {"drain", 2}, {"inactive", 0}};
	for (size_t i = 0; state && i < sizeof states / sizeof *states; i++)
		if (strcmp(state, states[i].state) == 0)
			return states[i].number;
	return 3;
}

static json_t *parts_make(const json_t *p)
{
	int64_t most_time = desc_number(p, "max_time_s", 0), usual_time = desc_number(p, "default_time_s", -1),
		most_nodes = desc_number(p, "max_nodes", 0);
	json_t *part = json_pack("{s:O, s:I, s:I, s:i, s:I, s:I, s:I, s:i, s:i, s:I, s:I}", "name", json_object_get(p, "name"),
				 "max_time", (json_int_t)(most_time > 0 ? most_time / 60 : SITE_INFINITE), "default_time",
				 (json_int_t)(usual_time >= 0 ? (usual_time + 59) / 60 : SITE_NO_VAL), "flag_default",
				 json_is_true(json_object_get(p, "is_default")), "total_nodes",
				 (json_int_t)desc_number(p, "nodes", 0), "total_cpus", (json_int_t)desc_number(p, "cpus", 0),
				 "max_nodes", (json_int_t)(most_nodes > 0 ? most_nodes : SITE_INFINITE), "min_nodes", 1,
				 "state_up", parts_state(json_string_value(json_object_get(p, "state"))), "max_cpus_per_node",
				 (json_int_t)desc_number(p, "node_cpus", 0), "max_mem_per_node",
				 (json_int_t)desc_number(p, "node_mem_mb", 0));
	json_t *accounts = site_value_read(SITE_LIST, json_object_get(p, "allow_accounts"));
	if (!part)
		die("out of memory");
	desc_put(part, "allow_accounts", accounts);
	return part;
}

json_t *site_parts(const json_t *limits, const char *user, const json_t *groups)
{
	json_t *parts = json_array();
	const json_t *partition;
	size_t i;
	json_array_foreach (json_object_get(limits, "partitions"), i, partition)
		if (parts_is_open(partition, user, groups))
			option_append(parts, parts_make(partition));
	return parts;
}
