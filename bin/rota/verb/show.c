/* show.c - `rota show`: jobs or single steps in full. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/print/attempts.h"
#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/show_job.h"
#include "bin/rota/print/show_step.h"
#include "bin/rota/print/stats.h"
#include "bin/rota/print/transfers.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/steps/substep.h"
#include "bin/rota/steps/substep_show.h"

enum { SHOW_SCRIPT = 256, SHOW_ENVIRONMENT, SHOW_STATS, SHOW_HOOKS };

const struct verb_option show_options[] = {
	{'e', "elements", NULL, "also list the elements of arrays"},
	{SHOW_STATS, "stats", NULL, "print the usage of the steps: highest, mean and last values"},
	{SHOW_SCRIPT, "script", NULL, "print only the submitted script"},
	{SHOW_ENVIRONMENT, "environment", NULL, "print only the submitted environment"},
	{SHOW_HOOKS, "hooks", NULL, "also list the prologs, the epilogs and the functions of burst_buffer.lua"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_STALE,
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

struct show_line {
	bool elements, stats, script, environment, hooks, wide, json;
};

/* Print a job with its steps. */
static void whole_print(const json_t *job, bool wide, bool hooks)
{
	const json_t *steps = json_object_get(job, "steps"), *transfers = json_object_get(job, "transfers"), *step;
	json_t *said = json_object(), *attempts = json_array();
	size_t i;

	show_job_print(job, wide, hooks);
	json_array_foreach (steps, i, step) {
		show_step_warnings(step, said);
		if (hooks)
			show_step_hooks(step, true);
		show_step_lives(step, true);
		attempts_add(attempts, step);
	}
	show_step_table(steps, wide);
	attempts_print(job, attempts, wide);
	if (json_array_size(transfers)) {
		putchar('\n');
		transfers_print(transfers, wide);
	}
	json_decref(attempts);
	json_decref(said);
}

/* Print single steps in full. */
static void parts_print(const json_t *job, bool wide)
{
	const json_t *step;
	size_t i;

	json_array_foreach (json_object_get(job, "steps"), i, step) {
		json_t *said = json_object(), *attempts = json_array();

		show_step_print(job, step);
		show_step_warnings(step, said);
		attempts_add(attempts, step);
		attempts_print(job, attempts, wide);
		json_decref(attempts);
		json_decref(said);
	}
}

/* Returns true if the operands name only steps of the job, and not the job itself. */
static bool steps_named(const json_t *operands, const json_t *job)
{
	struct word id = format_count(json_object_get(job, "job_id"));
	const json_t *operand;
	size_t i;

	json_array_foreach (operands, i, operand)
		if (!strcmp(json_string_value(operand), id.s))
			return false;
	return true;
}

static int show_print(const json_t *operands, const struct show_line *line)
{
	json_t *answer = call_gate("show", json_pack("{sO sb}", "jobs", operands, "elements", line->elements));
	const json_t *job;
	size_t i;

	if (!answer)
		return call_status();
	if (line->json) {
		call_print_json();
	} else {
		json_array_foreach (json_object_get(answer, "jobs"), i, job) {
			if (i)
				putchar('\n');
			if (steps_named(operands, job))
				parts_print(job, line->wide);
			else
				whole_print(job, line->wide, line->hooks);
		}
	}
	json_decref(answer);
	return EXIT_OK;
}

/* Print the script or the environment of a job (--script, --environment). */
static int script(const json_t *operands, const struct show_line *line)
{
	json_t *answer = call_gate("script", json_pack("{sO}", "jobs", operands));
	const json_t *variable;
	size_t i;

	if (!answer)
		return call_status();
	if (line->json)
		call_print_json();
	if (line->script && !line->json)
		fputs(format_text(answer, "script"), stdout);
	if (line->environment && !line->json)
		json_array_foreach (json_object_get(answer, "environment"), i, variable)
			puts(json_string_value(variable));
	json_decref(answer);
	return EXIT_OK;
}

int verb_show(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct show_line line = {0};
	json_t *operands;
	int status;

	for (int id; (id = verb_next(&scan));) {
		line.elements |= id == 'e';
		line.stats |= id == SHOW_STATS;
		line.script |= id == SHOW_SCRIPT;
		line.environment |= id == SHOW_ENVIRONMENT;
		line.hooks |= id == SHOW_HOOKS;
		line.wide |= id == 'w';
		line.json |= id == VERB_JSON;
		if (id == VERB_STALE)
			call_use_stale();
	}
	verb_operands(&scan, 1, line.script || line.environment ? 1 : -1);
	if (substep_operands(&scan)) {
		if (line.elements || line.stats || line.script || line.environment)
			verb_misuse(verb, "these options are for jobs and steps, not for sub-steps");
		return substep_show(&scan, line.json);
	}
	operands = words_operands(&scan);
	if (line.stats)
		status = stats_show(operands, line.wide, line.json);
	else
		status = line.script || line.environment ? script(operands, &line) : show_print(operands, &line);
	json_decref(operands);
	return status;
}
