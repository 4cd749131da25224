/* site_change_test.c - jobs as the site's script sees them, and what it changes as options. */
#include "jobmgr/site/site_change.h"
#include "jobmgr/site/site_desc.h"
#include "jobmgr/site/site_error.h"
#include "tests/unit/unit.h"

enum { NOW = 1900000000 };

static json_t *parse(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!value)
		fail_msg("not JSON: %s", text);
	return value;
}

static json_t *desc_of(const char *described)
{
	const struct site_subject subject = {.uid = 7, .gid = 8, .user = "u", .workdir = "/w"};
	json_t *value = parse(described), *desc = site_desc(value, &subject);
	json_decref(value);
	return desc;
}

/* Expected fields of a job with these options; "nil" where there is none. */
static const struct {
	const char *options, *field, *value;
} described[] = {
	{"{}", "time_limit", "nil"},
	{"{\"time\": 61}", "time_limit", "2"},
	{"{\"time\": 0}", "time_limit", "4294967295"},
	{"{\"nice\": -3}", "nice", "2147483645"},
	{"{\"nodes\": [2, 4]}", "min_nodes", "2"},
	{"{\"nodes\": [2, 4]}", "max_nodes", "4"},
	{"{\"mem\": 70}", "pn_min_memory", "70"},
	{"{\"mem\": 70}", "min_mem_per_node", "70"},
	{"{\"mem-per-cpu\": 2048}", "pn_min_memory", "9.2233720368547779e18"},
	{"{\"mem-per-cpu\": 70}", "min_mem_per_cpu", "70"},
	{"{\"nodelist\": [\"n1\", \"n2\"]}", "req_nodes", "\"n1,n2\""},
	{"{\"gres\": {\"gpu\": 2, \"fpga\": 1}}", "gres", "\"gpu:2,fpga:1\""},
	{"{\"gres\": {\"gpu\": 2, \"fpga\": 1}}", "tres_per_node", "\"gres:gpu:2,gres:fpga:1\""},
	{"{\"gpus-per-node\": 3}", "gres", "\"gpu:3\""},
	{"{\"gpus\": 3}", "tres_per_job", "\"gres:gpu:3\""},
	{"{\"array\": {\"indices\": [[0, 8, 4], [10, 12, 1], [20, 20, 1]], \"size\": 7, \"limit\": 2}}", "array_inx",
	 "\"0-8:4,10-12,20%2\""},
	{"{\"mail-type\": \"BEGIN,FAIL\"}", "mail_type", "5"},
	{"{\"exclusive\": true}", "shared", "0"},
	{"{\"requeue\": false}", "requeue", "0"},
	{"{\"after\": \"7:any\"}", "dependency", "\"7:any\""},
	{"{\"ntasks\": 3, \"cpus-per-task\": 2}", "min_cpus", "6"},
	{"{}", "min_cpus", "1"},
	{"{}", "user_id", "7"},
	{"{}", "work_dir", "\"/w\""},
	{"{\"workdir\": \"/x\"}", "work_dir", "\"/x\""},
	{"{}", "begin_time", "0"},
};

static void tells_what_a_job_asks_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof described / sizeof *described; i++) {
		char *text = xasprintf("{\"name\": \"n\", \"options\": %s, \"steps\": []}", described[i].options);
		json_t *desc = desc_of(text), *value = json_object_get(desc, described[i].field);
		char *found = value ? json_dumps(value, JSON_ENCODE_ANY) : xstrdup("nil");
		if (strcmp(found, described[i].value) != 0)
			fail_msg("%s: %s is %s instead of %s", described[i].options, described[i].field, found,
				 described[i].value);
		free(found);
		free(text);
		json_decref(desc);
	}
}

static void tells_of_steps(void **state)
{
	json_t *desc = desc_of(
		"{\"name\": \"n\", \"options\": {}, \"steps\": [{\"name\": \"a\", \"line\": 3, \"options\": {\"time\": 60}}]}");
	char *found = json_dumps(json_object_get(desc, "steps"), JSON_COMPACT | JSON_SORT_KEYS);
	(void)state;
	assert_string_equal(found, "[{\"line\":3,\"name\":\"a\",\"time_limit\":1}]");
	free(found);
	json_decref(desc);
}

/* Expected option of a change, or "FIELD: why" of a refusal; "" for no change. */
static const struct {
	const char *options, *changes, *expected;
} changes[] = {
	{"{}", "{}", ""},
	{"{}", "{\"time_limit\": 7}", "time=7"},
	{"{}", "{\"time_limit\": 7.9}", "time=7"},
	{"{}", "{\"time_limit\": \"7\"}", "time=7"},
	{"{\"time\": 420}", "{\"time_limit\": 7}", ""},
	{"{\"time\": 420}", "{\"time_limit\": null}", "time"},
	{"{\"time\": 420}", "{\"time_limit\": 4294967294}", "time"},
	{"{\"time\": 420}", "{\"time_limit\": 4294967295}", "time=0"},
	{"{}", "{\"time_limit\": null}", ""},
	{"{}", "{\"time_limit\": -7}", "time_limit"},
	{"{}", "{\"time_limit\": \"x\"}", "time_limit"},
	{"{}", "{\"time_limit\": {}}", "time_limit"},
	{"{}", "{\"partition\": \"p\"}", "partition=p"},
	{"{}", "{\"partition\": \"\"}", "partition"},
	{"{}", "{\"partition\": \"a\\u0000b\"}", "partition"},
	{"{}", "{\"partition\": true}", "partition"},
	{"{}", "{\"comment\": \"a\\nb\"}", "comment=a\nb"}, /* the translator refuses the newline */
	{"{}", "{\"nice\": 2147483653}", "nice=5"},
	{"{}", "{\"nice\": 5}", "nice=5"},
	{"{}", "{\"min_nodes\": 2}", "nodes=2"},
	{"{}", "{\"min_nodes\": 2, \"max_nodes\": 4}", "nodes=2-4"},
	{"{}", "{\"max_nodes\": 4}", "nodes=1-4"},
	{"{\"nodes\": [2, 4]}", "{\"max_nodes\": 3}", "nodes=2-3"},
	{"{\"nodes\": [2, 4]}", "{\"min_nodes\": null, \"max_nodes\": null}", "nodes"},
	{"{\"nodes\": [2, 4]}", "{\"max_nodes\": 4294967294}", "nodes=2"},
	{"{}", "{\"pn_min_memory\": 500}", "mem=500"},
	{"{}", "{\"pn_min_memory\": 9223372036854777856.0}", "mem-per-cpu=2048"},
	{"{\"mem\": 5}", "{\"pn_min_memory\": 18446744073709551614.0}", "mem"},
	{"{}", "{\"min_mem_per_cpu\": 500}", "mem-per-cpu=500"},
	{"{}", "{\"min_mem_per_node\": 500}", "mem=500"},
	{"{}", "{\"features\": \"fast&new\"}", "constraint=fast&new"},
	{"{\"constraint\": \"x\"}", "{\"features\": \"\"}", "constraint"},
	{"{}", "{\"req_nodes\": \"n[1-2]\"}", "nodelist=n[1-2]"},
	{"{}", "{\"tres_per_node\": \"gres:gpu:2,gres/fpga:1\"}", "gres=gpu:2,fpga:1"},
	{"{}", "{\"gres\": \"gpu:2\"}", "gres=gpu:2"},
	{"{}", "{\"begin_time\": 1900000060}", "begin=now+60seconds"},
	{"{}", "{\"begin_time\": 5}", "begin=now"},
	{"{}", "{\"begin_time\": 0}", ""},
	{"{}", "{\"requeue\": 0}", "requeue=no"},
	{"{}", "{\"requeue\": 2}", "requeue"},
	{"{}", "{\"shared\": 0}", "exclusive=yes"},
	{"{}", "{\"shared\": 1}", "exclusive=no"},
	{"{}", "{\"mail_type\": 5}", "mail-type=BEGIN,FAIL"},
	{"{}", "{\"mail_type\": 4096}", "mail_type"},
	{"{}", "{\"script\": \"#!/bin/sh\"}", ""}, /* "script" is no option */
	{"{}", "{\"script\": \"\"}", "script"},
	{"{}", "{\"script\": \"a\\u0000b\"}", "script"},
	{"{}", "{\"burst_buffer\": \"#BB_LUA a\\n#BB_LUA b\"}", "bb=#BB_LUA a\n#BB_LUA b"},
	{"{\"bb\": \"#BB_LUA a\"}", "{\"burst_buffer\": null}", "bb"},
	{"{}", "{\"argv\": [\"x\"]}", "argv"},
	{"{}", "{\"wckey\": \"x\"}", ""},
	{"{}", "{\"threads_per_core\": 1}", "threads_per_core"},
	{"{}", "{\"user_id\": 0}", ""},
	{"{}", "{\"user_name\": \"root\"}", ""},
	{"{}", "{\"no_such_field\": 1}", ""},
	{"{}", "{\"admin_comment\": \"a\\nb\"}", "admin_comment"},
	{"{}", "{\"environment\": 7}", "environment"},
	{"{}", "{\"environment\": {\"A=B\": \"x\"}}", "environment.A=B"},
	{"{}", "{\"environment\": {\"A\": \"x\\u0000y\"}}", "environment.A"},
	{"{}", "{\"environment\": {\"A\": {}}}", "environment.A"},
};

/* The problems or the record of a change, as in `changes`; malloc'ed. */
static char *outcome(const struct site_changes *c, bool good, const struct err *e)
{
	const char *open = strchr(e->message, '(');
	if (!good)
		return xasprintf("%.*s", (int)strcspn(open + 1, ")"), open + 1);
	assert_true(c->count <= 1);
	if (c->count == 0)
		return xstrdup("");
	return xasprintf("%s%s%s", c->list[0].option, c->list[0].value ? "=" : "", c->list[0].value ? c->list[0].value : "");
}

static void makes_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		char *text = xasprintf("{\"name\": \"n\", \"options\": %s, \"steps\": []}", changes[i].options), *found;
		json_t *desc = desc_of(text), *changed = parse(changes[i].changes);
		struct site_changes c = {0};
		struct err e = {0};
		bool good = site_changes_read(&c, desc, NULL, changed, NOW, &e);
		found = outcome(&c, good, &e);
		if (strcmp(found, changes[i].expected) != 0)
			fail_msg("%s %s gives \"%s\" instead of \"%s\" %s", changes[i].options, changes[i].changes, found,
				 changes[i].expected, e.message);
		free(found);
		free(text);
		site_changes_clear(&c);
		json_decref(desc);
		json_decref(changed);
	}
}

static void keeps_a_record(void **state)
{
	json_t *desc = desc_of("{\"name\": \"n\", \"options\": {\"time\": 300, \"mem-per-cpu\": 2048}, \"steps\": []}");
	json_t *changed = parse("{\"time_limit\": 7, \"pn_min_memory\": 10, \"admin_comment\": \"hello\", \"environment\": "
				"{\"A\": \"x\", \"B\": 5}}");
	struct site_changes c = {0};
	struct err e;
	char *found, *names;
	(void)state;
	assert_true(site_changes_read(&c, desc, NULL, changed, NOW, &e));
	found = json_dumps(c.kept, JSON_COMPACT);
	assert_string_equal(found, "[{\"field\":\"time_limit\",\"before\":\"5\",\"after\":\"7\"},"
				   "{\"field\":\"pn_min_memory\",\"before\":\"2048 per CPU\",\"after\":\"10\"},"
				   "{\"field\":\"admin_comment\",\"before\":null,\"after\":\"hello\"},"
				   "{\"field\":\"environment.A\",\"before\":null,\"after\":\"x\"},"
				   "{\"field\":\"environment.B\",\"before\":null,\"after\":\"5\"}]");
	free(found);
	found = json_dumps(c.environment, JSON_COMPACT);
	assert_string_equal(found, "{\"A\":\"x\",\"B\":\"5\"}");
	free(found);
	names = site_changes_names(&c);
	assert_string_equal(names, "time_limit, pn_min_memory, admin_comment, environment.A, environment.B");
	free(names);
	site_changes_clear(&c);
	json_decref(changed);
	json_decref(desc);
}

/* The record of a modification has the job's earlier value where the user does not change the option. */
static void keeps_what_a_job_had(void **state)
{
	json_t *desc = desc_of("{\"name\": \"\", \"options\": {\"time\": 300}, \"steps\": []}");
	json_t *step = parse("{\"job_id\": 3, \"uid\": 7, \"gid\": 8, \"user\": \"u\", \"name\": \"s\", \"time_limit_s\": 60, "
			     "\"nodes_min\": 2, "
			     "\"nodes_max\": 4, \"job\": {\"name\": \"j\", \"comment\": \"old\"}}");
	json_t *rec = site_rec(step), *changed = parse("{\"time_limit\": 7, \"comment\": \"new\", \"max_nodes\": 3}");
	struct site_changes c = {0};
	struct err e;
	char *found;
	(void)state;
	assert_string_equal(json_string_value(json_object_get(rec, "name")), "j");
	assert_true(site_changes_read(&c, desc, rec, changed, NOW, &e));
	found = json_dumps(c.kept, JSON_COMPACT);
	assert_string_equal(found, "[{\"field\":\"comment\",\"before\":\"old\",\"after\":\"new\"},"
				   "{\"field\":\"time_limit\",\"before\":\"5\",\"after\":\"7\"},"
				   "{\"field\":\"max_nodes\",\"before\":\"4\",\"after\":\"3\"}]");
	assert_string_equal(c.list[2].value, "2-3");
	free(found);
	site_changes_clear(&c);
	json_decref(changed);
	json_decref(rec);
	json_decref(step);
	json_decref(desc);
}

static void lists_open_partitions(void **state)
{
	json_t *limits = parse(
		       "{\"partitions\": [{\"name\": \"a\", \"nodes\": 2, \"cpus\": 8, \"max_time_s\": 3600, \"max_nodes\": 0, "
		       "\"is_default\": true, \"default_time_s\": 60, \"state\": \"up\"},"
		       "{\"name\": \"b\", \"nodes\": 2, \"allow_users\": [\"v\"]}, {\"name\": \"c\", \"allow_groups\": [\"g\"]},"
		       "{\"name\": \"d\", \"allow_groups\": [\"h\"], \"allow_users\": null}]}"),
	       *groups = parse("[\"g\"]"), *parts = site_parts(limits, "u", groups);
	char *found = json_dumps(json_array_get(parts, 0), JSON_COMPACT);
	(void)state;
	assert_int_equal(json_array_size(parts), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(parts, 1), "name")), "c");
	assert_string_equal(found,
			    "{\"name\":\"a\",\"max_time\":60,\"default_time\":1,\"flag_default\":1,\"total_nodes\":2,"
			    "\"total_cpus\":8,\"max_nodes\":4294967295,\"min_nodes\":1,\"state_up\":3,\"max_cpus_per_node\":0,"
			    "\"max_mem_per_node\":0}");
	free(found);
	json_decref(parts);
	json_decref(groups);
	json_decref(limits);
}

static void knows_errors_of_slurm(void **state)
{
	(void)state;
	assert_string_equal(site_error_text(-1), "Unspecified error");
	assert_string_equal(site_error_text(2066), "Invalid qos specification");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_a_job_asks_for),
		cmocka_unit_test(tells_of_steps),
		cmocka_unit_test(makes_options),
		cmocka_unit_test(keeps_a_record),
		cmocka_unit_test(keeps_what_a_job_had),
		cmocka_unit_test(lists_open_partitions),
		cmocka_unit_test(knows_errors_of_slurm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
