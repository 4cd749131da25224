/* act.c - `rota cancel`, `hold`, `release`, `suspend`, `resume`, `requeue`: one request that names jobs or steps, and what came of each. */
#include <stdio.h>

#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/verb.h"
#include "bin/rota/act.h"
#include "bin/rota/selection.h"
#include "bin/rota/words.h"

enum { ACT_REASON = 256, ACT_FAILED };

#define ACT_OPTIONS                                                                                                              \
	{ACT_REASON, "reason", "TEXT", "a reason that is kept with the event"},                                                  \
		{'q', "quiet", NULL, "print nothing while all goes well"}, SELECTION_OPTIONS, VERB_OPTION_JSON,                  \
	{                                                                                                                        \
		0, NULL, NULL, NULL                                                                                              \
	}

const struct verb_option cancel_options[] = {ACT_OPTIONS};
const struct verb_option hold_options[] = {ACT_OPTIONS};
const struct verb_option release_options[] = {ACT_OPTIONS};
const struct verb_option suspend_options[] = {ACT_OPTIONS};
const struct verb_option resume_options[] = {ACT_OPTIONS};
const struct verb_option requeue_options[] = {
	{ACT_FAILED, "failed", NULL, "only what did not end well, and what was skipped behind it"},
	{'q', "quiet", NULL, "print nothing while all goes well"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

enum { ACT_MOST_LINES = 24 };

static bool has_failed(const json_t *step)
{
	return json_is_true(json_object_get(step, "failed"));
}

static void counts_print(FILE *out, const char *before, const json_t *counts)
{
	const char *action;
	const json_t *number;

	json_object_foreach ((json_t *)counts, action, number)
		fprintf(out, "%s%lld steps: %s\n", before, (long long)json_integer_value(number), action);
}

/* What came of each step; of very many, how many of each kind. What failed goes to standard error, even when `quiet`. */
static void print(const json_t *steps, bool quiet)
{
	size_t i, count = json_array_size(steps);
	json_t *counts = json_object(), *failures = json_object();
	const json_t *step;

	json_array_foreach (steps, i, step) {
		const char *action = format_text(step, "action");
		bool failed = has_failed(step);
		json_t *of = failed ? failures : counts;

		if (count <= ACT_MOST_LINES && (failed || !quiet))
			fprintf(failed ? stderr : stdout, "%s%s: %s\n", failed ? "rota: " : "", format_text(step, "label"),
				action);
		json_object_set_new(of, action, json_integer(json_integer_value(json_object_get(of, action)) + 1));
	}
	if (count > ACT_MOST_LINES && !quiet)
		counts_print(stdout, "", counts);
	if (count > ACT_MOST_LINES)
		counts_print(stderr, "rota: ", failures);
	json_decref(counts);
	json_decref(failures);
}

/* Whether the verb could be done to all that was named. */
static int steps_status(const json_t *steps)
{
	const json_t *step;
	size_t i;

	json_array_foreach (steps, i, step)
		if (has_failed(step))
			return EXIT_REFUSED;
	return EXIT_OK;
}

int act_send(const struct verb *verb, json_t *request, const struct act_line *line)
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
		status = steps_status(steps);
		if (line->json)
			call_print_json();
		else
			print(steps, line->quiet);
		if (selected && !json_array_size(steps))
			fputs("rota: no job that you may change matches; nothing was changed\n", stderr);
	}
	json_decref(answer);
	json_decref(request);
	return status;
}

void act_jobs(struct verb_scan *scan, json_t *request)
{
	if (!selection_any(request))
		verb_operands(scan, 1, -1);
	if (scan->operands)
		json_object_set_new(request, "jobs", words_operands(scan));
}

static int act(int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb_find(argv[0]), argc, argv);
	json_t *request = json_object();
	struct act_line line = {0};

	for (int id; (id = verb_next(&scan));) {
		if (selection_take(&scan, id, request, &line.yes))
			continue;
		if (id == ACT_REASON)
			json_object_set_new(request, "reason", words_text(&scan));
		if (id == ACT_FAILED)
			json_object_set_new(request, "failed", json_true());
		line.json |= id == VERB_JSON;
		line.quiet |= id == 'q';
	}
	act_jobs(&scan, request);
	return act_send(scan.verb, request, &line);
}

int verb_cancel(int argc, char **argv)
{
	return act(argc, argv);
}

int verb_hold(int argc, char **argv)
{
	return act(argc, argv);
}

int verb_release(int argc, char **argv)
{
	return act(argc, argv);
}

int verb_suspend(int argc, char **argv)
{
	return act(argc, argv);
}

int verb_resume(int argc, char **argv)
{
	return act(argc, argv);
}

int verb_requeue(int argc, char **argv)
{
	return act(argc, argv);
}
