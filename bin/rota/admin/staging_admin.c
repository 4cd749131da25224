/* staging_admin.c - `rota admin hook` and `rota admin pool`: the staging of jobs' data by the site's burst_buffer.lua.
 *
 * Called by: `rota admin`; `rota show`, for the calls of a job. */
#include "bin/rota/admin/staging_admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "lib/err.h"

/* Returns how a call of a burst_buffer.lua function ended, or that the call has not ended; malloc'ed. */
static char *call_outcome(const json_t *call)
{
	const json_t *rc = json_object_get(call, "rc"), *elapsed = json_object_get(call, "elapsed_s");
	const char *message = format_text(call, "message");
	bool ended = json_is_string(json_object_get(call, "ended_at")), began = json_is_string(json_object_get(call, "began_at"));
	const char *word = !ended						? (began ? "runs" : "is due")
			   : json_is_integer(rc) && json_integer_value(rc) == 0 ? "succeeded"
										: "failed";

	if (json_is_number(elapsed))
		return xasprintf("%s after %.1f s%s%s", word, json_number_value(elapsed), *message ? ": " : "", message);
	return xasprintf("%s%s%s", word, *message ? ": " : "", message);
}

void staging_admin_print_calls(const json_t *calls, const char *title)
{
	const json_t *call;
	size_t i;

	json_array_foreach (calls, i, call) {
		char *outcome = call_outcome(call);

		printf("%s%s  %s %s\n", title, format_time(json_object_get(call, "due_at")).s, format_text(call, "function"),
		       outcome);
		free(outcome);
	}
}

/* Print the end of the output of burst_buffer.lua functions, each with the function's name. */
static void calls_print_output(const json_t *calls)
{
	const json_t *call;
	size_t i;

	json_array_foreach (calls, i, call) {
		const char *output = format_text(call, "output");
		size_t size = strlen(output);

		if (*output)
			printf("output of %s:\n%s%s", format_text(call, "function"), output,
			       output[size - 1] == '\n' ? "" : "\n");
	}
}

void staging_admin_print_elements(const json_t *elements, bool calls, const char *title)
{
	const json_t *element;
	size_t i;

	json_array_foreach (elements, i, element) {
		const char *message = format_text(element, "message");

		printf("%s%s (%lld): %s%s%s\n", title, format_text(element, "label"),
		       (long long)json_integer_value(json_object_get(element, "number")), format_text(element, "state"),
		       *message ? ": " : "", message);
		if (calls)
			staging_admin_print_calls(json_object_get(element, "calls"), title);
	}
}

static void hooks_print(const json_t *hooks)
{
	const json_t *hook;
	size_t i;

	json_array_foreach (hooks, i, hook) {
		const json_t *calls = json_object_get(hook, "calls");

		printf("%-10s %-12s %-12s %s\n", format_text(hook, "label"), format_text(hook, "user"),
		       format_text(hook, "state"), format_text(hook, "text"));
		staging_admin_print_calls(calls, "  ");
		calls_print_output(calls);
		staging_admin_print_elements(json_object_get(hook, "elements"), true, "  ");
	}
}

int staging_admin_run(const char *action, const char *job, bool json)
{
	json_t *request = json_pack("{ss}", "action", action), *answer;
	char *end = NULL;
	long long number = job ? strtoll(job, &end, 10) : 0;

	if (job && (!*job || *end || number < 1)) {
		struct err e = {0};

		err_set(&e, "\"%s\" is not the number of a job", job);
		call_error(&e);
		json_decref(request);
		return EXIT_REFUSED;
	}
	if (job)
		json_object_set_new(request, "job", json_integer(number));
	answer = call_gate("hooks", request);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		hooks_print(json_object_get(answer, "hooks"));
	json_decref(answer);
	return EXIT_OK;
}

int staging_admin_status(char *const *words, int count, bool json)
{
	json_t *list = json_array(), *answer;
	const char *text;

	for (int i = 0; i < count; i++)
		if (json_array_append_new(list, json_string(words[i]))) {
			struct err e = {0};

			err_set(&e, "\"%s\" is not UTF-8", words[i]);
			json_decref(list);
			return call_refuse(&e);
		}
	answer = call_gate("hooks", json_pack("{ss so}", "action", "status", "words", list));
	if (!answer)
		return call_status();
	text = json_string_value(json_object_get(answer, "lines"));
	if (json)
		call_print_json();
	else if (text)
		fputs(text, stdout);
	json_decref(answer);
	return EXIT_OK;
}

static void pools_print(const json_t *answer)
{
	const json_t *pools = json_object_get(answer, "pools"), *pool;
	const char *failure = format_text(answer, "failure");
	size_t i;

	printf("%-16s %10s %10s %10s %10s\n", "POOL", "TOTAL", "USED", "FREE", "PIECE");
	json_array_foreach (pools, i, pool)
		printf("%-16s %10s %10s %10s %10s\n", format_text(pool, "name"), format_text(pool, "total_text"),
		       format_text(pool, "used_text"), format_text(pool, "free_text"), format_text(pool, "granularity_text"));
	if (*failure)
		printf("the function pools of burst_buffer.lua has failed since %s: %s\n",
		       format_time(json_object_get(answer, "failure_at")).s, failure);
}

int staging_admin_pools(bool json)
{
	json_t *answer = call_gate("hooks", json_pack("{ss}", "action", "pools"));

	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		pools_print(answer);
	json_decref(answer);
	return EXIT_OK;
}
