/* act.c - `rota cancel`, `hold`, `release`, `suspend`, `resume`: one request that names jobs or steps, and what came of each. */
#include <stdio.h>

#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/verb.h"
#include "bin/rota/act.h"
#include "bin/rota/words.h"

enum { ACT_REASON = 256 };

#define ACT_OPTION_REASON                                                                                                        \
	{                                                                                                                        \
		ACT_REASON, "reason", "TEXT", "a reason that is kept with the event"                                             \
	}
#define ACT_OPTION_QUIET                                                                                                         \
	{                                                                                                                        \
		'q', "quiet", NULL, "print nothing while all goes well"                                                          \
	}

const struct verb_option cancel_options[] = {ACT_OPTION_REASON, ACT_OPTION_QUIET, VERB_OPTION_JSON, {0, NULL, NULL, NULL}};
const struct verb_option hold_options[] = {ACT_OPTION_REASON, ACT_OPTION_QUIET, VERB_OPTION_JSON, {0, NULL, NULL, NULL}};
const struct verb_option release_options[] = {ACT_OPTION_REASON, ACT_OPTION_QUIET, VERB_OPTION_JSON, {0, NULL, NULL, NULL}};
const struct verb_option suspend_options[] = {ACT_OPTION_REASON, ACT_OPTION_QUIET, VERB_OPTION_JSON, {0, NULL, NULL, NULL}};
const struct verb_option resume_options[] = {ACT_OPTION_REASON, ACT_OPTION_QUIET, VERB_OPTION_JSON, {0, NULL, NULL, NULL}};

enum { ACT_MOST_LINES = 24 };

/* What came of each step; of very many, how many of each kind. */
static void print(const json_t *steps)
{
	const json_t *step;
	size_t i, count = json_array_size(steps);
	json_t *counts = json_object();
	const char *action;
	json_t *number;

	json_array_foreach (steps, i, step) {
		action = format_text(step, format_text(step, "action")[0] ? "action" : "state");
		if (count <= ACT_MOST_LINES)
			printf("%s: %s\n", format_text(step, "label"), action);
		json_object_set_new(counts, action, json_integer(json_integer_value(json_object_get(counts, action)) + 1));
	}
	if (count > ACT_MOST_LINES)
		json_object_foreach (counts, action, number)
			printf("%lld steps: %s\n", (long long)json_integer_value(number), action);
	json_decref(counts);
}

int act_send(const char *verb, json_t *request, bool json, bool quiet)
{
	json_t *answer = call_gate(verb, request);

	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else if (!quiet)
		print(json_object_get(answer, "steps"));
	json_decref(answer);
	return EXIT_OK;
}

static int act(int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb_find(argv[0]), argc, argv);
	json_t *request = json_object();
	bool json = false, quiet = false;

	for (int id; (id = verb_next(&scan));) {
		if (id == ACT_REASON)
			json_object_set_new(request, "reason", words_text(&scan));
		json |= id == VERB_JSON;
		quiet |= id == 'q';
	}
	verb_operands(&scan, 1, -1);
	json_object_set_new(request, "jobs", words_operands(&scan));
	return act_send(scan.verb->name, request, json, quiet);
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
