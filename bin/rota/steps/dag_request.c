/* dag_request.c - makes the request for a sub-step from a step of a plan (dag_request.h).
 *
 * Called by: run_file.c.
 * Invariants:
 * - A script that runs once has the CPUs of all tasks of the step, as in a job. With --run=tasks, it runs once for each task. */
#include "bin/rota/steps/dag_request.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"
#include "lib/order.h"

/* Make the request the owner of a malloc'ed object, which it frees at its end. Returns the object. */
static void *request_own(struct dag_request *r, void *object)
{
	if (r->owned_count == (int)(sizeof(r->owned) / sizeof(*r->owned)))
		die("a request has too many parts");
	return r->owned[r->owned_count++] = object;
}

void dag_request_free(struct dag_request *r)
{
	for (int i = 0; i < r->owned_count; i++)
		free(r->owned[i]);
	r->owned_count = 0;
}

char *dag_request_name(const struct dag *d, int unit)
{
	const struct dag_unit *u = &d->units[unit];
	const char *name = json_string_value(json_object_get(d->steps[u->step].plan, "name"));

	return u->index < 0 ? xstrdup(name) : xasprintf("%s[%d]", name, u->index);
}

static json_int_t request_number(const json_t *step, const char *key)
{
	return json_integer_value(json_object_get(step, key));
}

/* Returns "gpu:2,fpga:1", or "n1,n2", malloc'ed; NULL if there is nothing. */
static char *request_list(const json_t *value)
{
	char *text = NULL, *longer;
	const char *name;
	json_t *item;
	size_t i;

	json_object_foreach ((json_t *)value, name, item) {
		longer = xasprintf("%s%s%s:%lld", text ? text : "", text ? "," : "", name, (long long)json_integer_value(item));
		free(text);
		text = longer;
	}
	json_array_foreach (value, i, item) {
		longer = xasprintf("%s%s%s", text ? text : "", text ? "," : "", json_string_value(item));
		free(text);
		text = longer;
	}
	return text;
}

/* -- arrays */

/* Returns a pattern of a file with the letters filled in whose values only the client knows: %a, %b and %S of an element; malloc'ed. The
 * step manager fills in the others. */
static char *request_pattern(const char *pattern, const char *step, int index)
{
	char *text = xstrdup(""), *longer;

	for (const char *at = pattern, *end; *at; at = end) {
		const char *letter = at + 1 + (*at == '%' ? strspn(at + 1, "0123456789") : 0);
		int width = *at == '%' && isdigit((unsigned char)at[1]) ? atoi(at + 1) : 0;

		width = width > 10 ? 10 : width;
		if (*at == '%' && (*letter == 'a' || *letter == 'b')) {
			longer = xasprintf("%s%0*d", text, width, *letter == 'a' ? index : index % 10);
			end = letter + 1;
		} else if (*at == '%' && *letter == 'S') {
			longer = xasprintf("%s%s", text, step);
			end = letter + 1;
		} else {
			end = *at == '%' && *letter ? letter + 1 : at + 1;
			longer = xasprintf("%s%.*s", text, (int)(end - at), at);
		}
		free(text);
		text = longer;
	}
	return text;
}

/* Returns the environment of an element: that of the client with the variables of an array, as one malloc'ed piece. */
static const char *const *request_array_environment(char *const *env, const struct dag *d, const struct dag_unit *u)
{
	static const char *const names[] = {"ROTA_ARRAY_INDEX",	    "SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX",
					    "PBS_ARRAYID",	    "ROTA_ARRAY_SIZE",	   "SLURM_ARRAY_TASK_COUNT",
					    "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX"};
	enum { NAMES = sizeof(names) / sizeof(*names), INDICES = 4, SIZES = 6, LONGEST = 48 };
	const struct dag_step *s = &d->steps[u->step];
	int values[] = {u->index, s->count, d->units[s->first].index, d->units[s->first].index};
	size_t count = 0, kept = 0;
	const char **list;
	char *text;

	for (int i = s->first; i < s->first + s->count; i++) {
		values[2] = d->units[i].index < values[2] ? d->units[i].index : values[2];
		values[3] = d->units[i].index > values[3] ? d->units[i].index : values[3];
	}
	while (env[count])
		count++;
	list = xmalloc((count + NAMES + 1) * sizeof(*list) + (size_t)NAMES * LONGEST);
	text = (char *)(list + count + NAMES + 1);
	for (size_t i = 0; i < count; i++) {
		size_t length = strcspn(env[i], "="), j = 0;

		while (j < NAMES && (strlen(names[j]) != length || strncmp(names[j], env[i], length)))
			j++;
		if (j == NAMES)
			list[kept++] = env[i];
	}
	for (size_t i = 0; i < NAMES; i++, text += LONGEST) {
		snprintf(text, LONGEST, "%s=%d", names[i], values[i < INDICES ? 0 : i < SIZES ? 1 : i - SIZES + 2]);
		list[kept++] = text;
	}
	list[kept] = NULL;
	return list;
}

/* -- the request */

static void request_set_size(struct dag_request *r, const json_t *step, bool per_task)
{
	struct rota_run *run = &r->run;
	int tasks = (int)request_number(step, "ntasks"), cpus = (int)request_number(step, "cpus_per_task");

	run->ntasks = per_task ? tasks : 1;
	run->cpus_per_task = per_task ? cpus : tasks * cpus;
	run->nodes = per_task ? (int)request_number(step, "nodes_max") : 0;
	run->ntasks_per_node = per_task ? (int)request_number(step, "ntasks_per_node") : 0;
	run->mem_mb = (long)request_number(step, "mem_mb");
	run->gres = request_own(r, request_list(json_object_get(step, "gres")));
	run->nodelist = request_own(r, request_list(json_object_get(step, "nodelist")));
	run->exclude = request_own(r, request_list(json_object_get(step, "exclude")));
	run->exclusive = json_is_true(json_object_get(step, "exclusive"));
	run->time_s = (long)request_number(step, "time_limit_s");
	run->retry = (int)request_number(step, "retry");
}

static const char *request_file(struct dag_request *r, const char *pattern, const char *step, int index)
{
	if (!*pattern)
		return NULL;
	return request_own(r, index < 0 ? xstrdup(pattern) : request_pattern(pattern, step, index));
}

static void request_set_files(struct dag_request *r, const struct order_spec *spec, const char *step, int index)
{
	r->run.output = request_file(r, spec->output, step, index);
	r->run.error = request_file(r, spec->error, step, index);
	r->run.input = request_file(r, spec->input, step, index);
	if (r->run.output && !r->run.error)
		r->run.error = "output"; /* standard error goes into the file of standard output, as in a job */
	r->run.cwd = request_own(r, xstrdup(spec->workdir));
}

static void request_set_command(struct dag_request *r, const struct order_spec *spec, const json_t *arguments, const char *script)
{
	size_t count = 0, i;
	const char **argv = request_own(r, xcalloc(json_array_size(arguments) + 3, sizeof(*argv)));
	json_t *argument;

	if (*spec->shell)
		argv[count++] = request_own(r, xstrdup(spec->shell));
	argv[count++] = script;
	json_array_foreach (arguments, i, argument)
		argv[count++] = json_string_value(argument);
	r->run.argv = argv;
}

void dag_request_make(struct dag_request *r, const struct dag *d, int unit, const struct dag_common *common, const char *script)
{
	const struct dag_unit *u = &d->units[unit];
	const json_t *step = d->steps[u->step].plan;
	const char *name = json_string_value(json_object_get(step, "name")),
		   *text = json_string_value(json_object_get(step, "spec"));
	struct order_spec spec;
	struct fields *owner;
	struct err e = {0};

	if (!order_spec_parse(text, strlen(text), &spec, &owner, &e))
		die("a spec of the translator is malformed: %s", e.message);
	*r = (struct dag_request){.owned_count = 0};
	r->run.name = request_own(r, dag_request_name(d, unit));
	r->run.priority = common->priority;
	request_set_size(r, step, spec.per_task);
	request_set_files(r, &spec, name, u->index);
	request_set_command(r, &spec, common->arguments, script);
	if (u->index >= 0)
		r->run.env = request_own(r, (void *)request_array_environment(common->env, d, u));
	fields_free(owner);
}
