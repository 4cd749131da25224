/* order_sample.h - what the tests of launch requests share: a request, its spec, and their text with one field altered. */
#ifndef ROTA_TESTS_ORDER_SAMPLE_H
#define ROTA_TESTS_ORDER_SAMPLE_H

#include "tests/unit/unit.h"

#include "lib/order.h"

static const char hash_a[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char hash_b[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static inline struct order_spec sample_spec(void)
{
	return (struct order_spec){
		.pre_from = 1,
		.pre_to = 4,
		.from = 6,
		.to = 9,
		.per_task = true,
		.step_name = "solve",
		.job_name = "heat & co",
		.account = "physics",
		.partition = "main",
		.output = "%x-%j.out",
		.error = "",
		.input = "/dev/null",
		.append = true,
		.workdir = "/home/u/run 7",
		.umask = 027,
		.shell = "login",
		.user_prolog = "/home/u/pro",
		.user_epilog = "",
		.group = "g1",
		.rlimits = "nofile=1024,stack=unlimited",
		.submit_ntasks = 8,
		.cpus_per_task = 2,
	};
}

static inline struct order sample_order(void)
{
	return (struct order){
		.job_id = 812,
		.step_id = 3,
		.attempt = 1,
		.node = "n2",
		.nodes = "n1,n2,n3",
		.node_index = 1,
		.node_count = 3,
		.first_task = 4,
		.tasks = 4,
		.task_count = 12,
		.cpus = 8,
		.mem_mb = 2048,
		.gres = "gpu:0+3",
		.uid = 1000,
		.gid = 100,
		.user = "u",
		.script_hash = hash_a,
		.environment_hash = hash_b,
		.array_index = 7,
		.array_size = 10,
		.step_label = "812.solve[7]",
		.time_limit_s = 3600,
		.grace_s = 30,
		.prolog = true,
		.wait_for_go = true,
		.failing = "n3",
		.expires_at = 1800000000,
	};
}

/* The sample's text with the value of one field replaced (NULL: without the field). `in_spec`: the field belongs to the spec. */
static inline char *altered(const char *name, const char *value, bool in_spec, size_t *length)
{
	struct order_spec spec = sample_spec();
	struct order order = sample_order();
	struct fields *spec_fields = order_spec_write(&spec), *f = order_write(&order, fields_text(spec_fields, NULL));
	struct fields *from = in_spec ? spec_fields : f, *to = fields_new();
	for (int i = 0; i < fields_count(from); i++) {
		bool this_one = name && strcmp(fields_name(from, i), name) == 0;
		if (!this_one)
			fields_add(to, fields_name(from, i), fields_value(from, i));
		else if (value)
			fields_add(to, name, value);
	}
	char *text = xstrdup(fields_text(to, NULL));
	fields_free(to);
	fields_free(f);
	fields_free(spec_fields);
	if (in_spec) {
		f = order_write(&order, text);
		free(text);
		text = xstrdup(fields_text(f, NULL));
		fields_free(f);
	}
	*length = strlen(text);
	return text;
}

static inline bool parses(const char *name, const char *value, bool in_spec, struct err *e)
{
	size_t length;
	struct order order;
	char *text = altered(name, value, in_spec, &length);
	*e = (struct err){0};
	bool ok = order_parse(text, length, &order, e);
	free(text);
	if (ok)
		order_free(&order);
	else
		assert_string_not_equal(e->message, "");
	return ok;
}

struct change {
	const char *name, *value;
};

#endif
