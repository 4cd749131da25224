/* change.c - sends a request that changes jobs or steps, and prints the outcome of each. */
#include "bin/rota/jobs/change.h"

#include <stdio.h>

#include "bin/rota/call/call.h"
#include "bin/rota/jobs/selection.h"
#include "bin/rota/line/words.h"
#include "bin/rota/print/format.h"
#include "lib/text.h"

enum { CHANGE_MOST_LINES = 24 };

static bool step_has_failed(const json_t *step)
{
	return json_is_true(json_object_get(step, "failed"));
}

static void change_print_counts(FILE *out, const char *before, const json_t *counts)
{
	const char *action;
	const json_t *number;

	json_object_foreach ((json_t *)counts, action, number)
		fprintf(out, "%s%lld step%s: %s\n", before, (long long)json_integer_value(number),
			text_plural(json_integer_value(number)), action);
}

/* Print the outcome of each step; for many steps, print how many had each outcome. Failures go to standard error, even with
 * `quiet`. */
static void change_print(const json_t *steps, bool quiet)
{
	size_t i, count = json_array_size(steps);
	json_t *counts = json_object(), *failures = json_object();
	const json_t *step;

	json_array_foreach (steps, i, step) {
		const char *action = format_text(step, "action");
		bool failed = step_has_failed(step);
		json_t *of = failed ? failures : counts;

		if (count <= CHANGE_MOST_LINES && (failed || !quiet))
			fprintf(failed ? stderr : stdout, "%s%s: %s\n", failed ? "rota: " : "", format_text(step, "label"),
				action);
		json_object_set_new(of, action, json_integer(json_integer_value(json_object_get(of, action)) + 1));
	}
	if (count > CHANGE_MOST_LINES && !quiet)
		change_print_counts(stdout, "", counts);
	if (count > CHANGE_MOST_LINES)
		change_print_counts(stderr, "rota: ", failures);
	json_decref(counts);
	json_decref(failures);
}

/* Returns EXIT_REFUSED if a step could not be changed. */
static int change_status(const json_t *steps)
{
	const json_t *step;
	size_t i;

	json_array_foreach (steps, i, step)
		if (step_has_failed(step))
			return EXIT_REFUSED;
	return EXIT_OK;
}

static void change_list(const json_t *steps, json_t *labels)
{
	const json_t *step;
	size_t i;

	json_array_foreach (steps, i, step)
		if (labels && json_is_true(json_object_get(step, "changed")))
			json_array_append(labels, json_object_get(step, "label"));
}

int change_send(const struct verb *verb, json_t *request, const struct change_line *line)
{
	bool selected = selection_any(request);
	json_t *answer, *steps;
	int status = EXIT_OK;

	if (!selection_confirm(verb, request, line->yes, &status)) {
		json_decref(request);
		return status;
	}
	answer = call_gate(verb->name, json_incref(request));
	steps = json_object_get(answer, "steps");
	if (!answer) {
		status = call_status();
	} else if (selected && !json_array_size(steps) && !words_found(request, answer)) {
		status = EXIT_REFUSED;
	} else {
		status = change_status(steps);
		change_list(steps, line->changed);
		if (line->json)
			call_print_json();
		else
			change_print(steps, line->quiet);
		if (selected && !json_array_size(steps))
			fputs("rota: no job that you may change matches; nothing was changed\n", stderr);
	}
	json_decref(answer);
	json_decref(request);
	return status;
}

void change_jobs(struct verb_scan *scan, json_t *request)
{
	if (!selection_any(request))
		verb_operands(scan, 1, -1);
	if (scan->operands)
		json_object_set_new(request, "jobs", words_operands(scan));
}
