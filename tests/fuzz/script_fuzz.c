/* script_fuzz.c - the translator on arbitrary bytes: no crash, no leak, and a plan that is consistent.
 *
 * The input is a script up to the first NUL byte, then options of the command line, each with a NUL. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/translate.h"
#include "lib/err.h"
#include "lib/order.h"

enum { OPTIONS_MOST = 16 };

/* Abort unless steps have valid specs and ascending ids. */
static void check_plan(const json_t *plan, const struct translate_request *request)
{
	const json_t *step, *steps = json_object_get(plan, "steps");
	size_t i;
	int last = -1;
	json_array_foreach ((json_t *)steps, i, step) {
		struct order_spec spec;
		struct fields *owner;
		struct err e;
		const char *text = json_string_value(json_object_get(step, "spec"));
		int id = (int)json_integer_value(json_object_get(step, "step_id"));
		if (id <= last || !order_spec_parse(text, strlen(text), &spec, &owner, &e))
			abort();
		last = id;
		fields_free(owner);
	}
	if (json_array_size(steps) == 0)
		abort();
	struct translate_problems problems = {0};
	json_decref(translate_modify(request, &translate_limits_default, json_array_get(steps, 0), &problems));
	translate_problems_free(&problems);
}

static int take_options(const char *bytes, size_t size, const char **options)
{
	int count = 0;
	while (count < OPTIONS_MOST && size > 0) {
		size_t length = strnlen(bytes, size);
		if (length == size)
			break;
		options[count++] = bytes;
		bytes += length + 1;
		size -= length + 1;
	}
	return count;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const char *options[OPTIONS_MOST];
	size_t length = strnlen((const char *)data, size);
	struct translate_request request = {.script = (const char *)data,
					    .size = length,
					    .script_name = "fuzz.sh",
					    .options = options,
					    .workdir = "/work",
					    .umask = 022,
					    .rlimits = "core=0",
					    .home = "/home/u",
					    .now = 1900000000,
					    .scratch = "/scratch/%u/%j",
					    .scratch_is_shared = size % 2 == 0,
					    .mover_partition = "",
					    .mover_command = "/usr/sbin/store"};
	struct translate_problems problems = {0};
	if (length < size)
		request.option_count = take_options((const char *)data + length + 1, size - length - 1, options);
	json_t *plan = translate_script(&request, &translate_limits_default, &problems);
	if ((plan != NULL) != (problems.count == 0))
		abort();
	if (plan) {
		translate_plan_whole(plan);
		check_plan(plan, &request);
	}
	json_decref(plan);
	translate_problems_free(&problems);
	return 0;
}
