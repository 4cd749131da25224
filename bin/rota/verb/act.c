/* act.c - `rota cancel`, `hold`, `release`, `suspend`, `resume`, `requeue` and `continue`: sends one request about jobs or
 * steps, and prints the outcome of each. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/jobs/change.h"
#include "bin/rota/jobs/selection.h"
#include "bin/rota/line/words.h"
#include "bin/rota/steps/substep.h"

enum { ACT_REASON = 256, ACT_FAILED, ACT_HURRY };

#define ACT_OPTIONS                                                                                                              \
	{ACT_REASON, "reason", "TEXT", "a reason, which accounting keeps with the event"},                                       \
		{'q', "quiet", NULL, "print only errors"}, SELECTION_OPTIONS, VERB_OPTION_JSON,                                  \
	{                                                                                                                        \
		0, NULL, NULL, NULL                                                                                              \
	}

const struct verb_option cancel_options[] = {
	{ACT_HURRY, "hurry", NULL,
	 "do not stage data out: functions of burst_buffer.lua that run are killed, and teardown follows"},
	ACT_OPTIONS};
const struct verb_option hold_options[] = {ACT_OPTIONS};
const struct verb_option release_options[] = {ACT_OPTIONS};
const struct verb_option suspend_options[] = {ACT_OPTIONS};
const struct verb_option resume_options[] = {ACT_OPTIONS};
const struct verb_option requeue_options[] = {
	{ACT_FAILED, "failed", NULL, "only steps that failed, and steps that were skipped because of them"},
	{'q', "quiet", NULL, "print only errors"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

const struct verb_option continue_options[] = {
	{'q', "quiet", NULL, "print only errors"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

static int act_run(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	json_t *request = json_object();
	struct change_line line = {0};

	for (int id; (id = verb_next(&scan));) {
		if (selection_take(&scan, id, request, &line.yes))
			continue;
		if (id == ACT_REASON)
			json_object_set_new(request, "reason", words_text(&scan));
		if (id == ACT_HURRY)
			json_object_set_new(request, "hurry", json_true());
		if (id == ACT_FAILED)
			json_object_set_new(request, "failed", json_true());
		line.json |= id == VERB_JSON;
		line.quiet |= id == 'q';
	}
	if (!strcmp(verb->name, "cancel") && substep_operands(&scan)) {
		json_decref(request);
		return substep_cancel(&scan, line.quiet);
	}
	change_jobs(&scan, request);
	return change_send(scan.verb, request, &line);
}

int verb_cancel(const struct verb *verb, int argc, char **argv)
{
	return act_run(verb, argc, argv);
}

int verb_hold(const struct verb *verb, int argc, char **argv)
{
	return act_run(verb, argc, argv);
}

int verb_release(const struct verb *verb, int argc, char **argv)
{
	return act_run(verb, argc, argv);
}

int verb_suspend(const struct verb *verb, int argc, char **argv)
{
	return act_run(verb, argc, argv);
}

int verb_resume(const struct verb *verb, int argc, char **argv)
{
	return act_run(verb, argc, argv);
}

int verb_requeue(const struct verb *verb, int argc, char **argv)
{
	return act_run(verb, argc, argv);
}

int verb_continue(const struct verb *verb, int argc, char **argv)
{
	return act_run(verb, argc, argv);
}
