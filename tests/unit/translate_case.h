/* translate_case.h - what the tests of the translator share: a request, plans, and tables of facts and refusals. */
#ifndef ROTA_TESTS_TRANSLATE_CASE_H
#define ROTA_TESTS_TRANSLATE_CASE_H

#include <time.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate.h"
#include "lib/order.h"
#include "tests/unit/unit.h"

#define NOW INT64_C(1900000000) /* 2030-03-17T17:46:40 UTC */
#define BASH "#!/bin/bash\n"

static inline struct translate_request request_of(const char *script, size_t size, const char *const *options)
{
	struct translate_request q = {.script = script,
				      .size = size,
				      .script_name = "dir/heat.sh",
				      .options = options,
				      .workdir = "/work",
				      .umask = 022,
				      .rlimits = "nofile=1024,core=0",
				      .home = "/home/u",
				      .now = NOW};
	while (options && q.option_count < 4 && options[q.option_count])
		q.option_count++;
	return q;
}

static inline json_t *run(const char *script, const char *const *options, const struct translate_limits *limits,
			  struct translate_problems *problems)
{
	struct translate_request q = request_of(script, strlen(script), options);
	memset(problems, 0, sizeof *problems);
	return translate_script(&q, limits ? limits : &translate_limits_default, problems);
}

/* The expanded plan of a valid script. */
static inline json_t *plan_of(const char *script, const char *const *options)
{
	struct translate_problems problems;
	json_t *plan = run(script, options, NULL, &problems);
	if (!plan)
		fail_msg("%s\n%d: %s: %s", script, problems.list[0].line, problems.list[0].option, problems.list[0].message);
	assert_int_equal(problems.count, 0);
	translate_plan_whole(plan);
	return plan;
}

/* A member of JSON by its path, "steps/0/array/size". */
static inline const json_t *pick(const json_t *json, const char *path)
{
	char *name;
	while (json && (name = option_item(&path, '/'))) {
		json = json_is_array(json) ? json_array_get(json, (size_t)atoi(name)) : json_object_get(json, name);
		free(name);
	}
	return json;
}

static inline struct fields *spec_of(const json_t *step, struct order_spec *spec)
{
	struct fields *owner;
	struct err e;
	const char *text = json_string_value(json_object_get(step, "spec"));
	if (!order_spec_parse(text, strlen(text), spec, &owner, &e))
		fail_msg("spec: %s", e.message);
	return owner;
}

/* Expected members of the plan of a script. */
struct fact {
	const char *script, *options[4];
	struct {
		const char *path;  /* "steps/0/name" in the plan, or "0:signal": a field of the spec of step 0 */
		const char *value; /* JSON, or the text of the field; "nothing": absent */
	} members[33];
};

/* A fact about a script with these lines, without options on the command line. */
#define FACT(lines, path, value)                                                                                                 \
	{                                                                                                                        \
		BASH lines, {0},                                                                                                 \
		{                                                                                                                \
			{                                                                                                        \
				path, value                                                                                      \
			}                                                                                                        \
		}                                                                                                                \
	}

/* The value at a path, as in struct fact; malloc'ed. */
static inline char *value_at(const json_t *plan, const char *path)
{
	const char *colon = strchr(path, ':');
	if (colon) {
		struct order_spec spec;
		struct fields *fields = spec_of(json_array_get(pick(plan, "steps"), (size_t)atoi(path)), &spec);
		const char *value = fields_get(fields, colon + 1);
		char *text = xstrdup(value ? value : "nothing");
		fields_free(fields);
		return text;
	}
	const json_t *found = pick(plan, path);
	return found ? json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY) : xstrdup("nothing");
}

static inline void check_fact(const struct fact *f)
{
	json_t *plan = plan_of(f->script, f->options);
	for (size_t i = 0; i < sizeof f->members / sizeof *f->members && f->members[i].path; i++) {
		char *value = value_at(plan, f->members[i].path);
		if (strcmp(value, f->members[i].value) != 0)
			fail_msg("script:\n%s\nmember %s of its plan is %s instead of %s", f->script, f->members[i].path, value,
				 f->members[i].value);
		free(value);
	}
	json_decref(plan);
}

#define FACTS(facts)                                                                                                             \
	for (size_t i = 0; i < sizeof(facts) / sizeof *(facts); i++)                                                             \
	check_fact(&(facts)[i])

struct refusal {
	const char *script, *options[4];
	int line;
	const char *option, *message, *hint; /* expected parts of the refusal; hint NULL: any */
};

/* A refusal of a line of the script, and of an argument of the command line. */
#define LINE(script, line, option, message, hint)                                                                                \
	{                                                                                                                        \
		script, {0}, line, option, message, hint                                                                         \
	}
#define SAID(argument, script, option, message, hint)                                                                            \
	{                                                                                                                        \
		script, {argument}, 0, option, message, hint                                                                     \
	}

static inline bool refuses(const struct translate_problems *problems, const struct refusal *r)
{
	for (int i = 0; i < problems->count; i++) {
		const struct translate_problem *p = &problems->list[i];
		if (p->line == r->line && strcmp(p->option, r->option) == 0 && strstr(p->message, r->message) &&
		    (!r->hint || strstr(p->hint, r->hint)))
			return true;
	}
	return false;
}

static inline void check_refusal(const struct refusal *r, const struct translate_limits *limits)
{
	struct translate_problems problems;
	json_t *plan = run(r->script, r->options, limits, &problems);
	if (plan)
		fail_msg("passed:\n%s", r->script);
	if (!refuses(&problems, r)) {
		for (int i = 0; i < problems.count; i++)
			print_error("%d: %s: %s [%s]\n", problems.list[i].line, problems.list[i].option, problems.list[i].message,
				    problems.list[i].hint);
		fail_msg("no \"%d: %s: %s\" of\n%s", r->line, r->option, r->message, r->script);
	}
	translate_problems_free(&problems);
}

#define REFUSALS(refusals, limits)                                                                                               \
	for (size_t i = 0; i < sizeof(refusals) / sizeof *(refusals); i++)                                                       \
	check_refusal(&(refusals)[i], limits)

/* Dates and times are in the time zone of the translating process. */
static inline int utc(void **state)
{
	(void)state;
	tzset();
	return setenv("TZ", "UTC", 1);
}

#endif
