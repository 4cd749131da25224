/* wait.c - waits until jobs have ended, and prints how each job ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/instance/process.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/jobs/wait.h"
#include "lib/clock.h"

enum { WAIT_ROUND = 60, WAIT_REASONS = 10 };

json_t *wait_jobs(const json_t *jobs, long timeout)
{
	long until = clock_ms() + timeout * 1000;

	for (;;) {
		long left = timeout < 0 ? WAIT_ROUND : (until - clock_ms() + 999) / 1000;
		json_t *answer;

		if (left > WAIT_ROUND)
			left = WAIT_ROUND;
		answer = call_gate_patiently("wait",
					     json_pack("{sO sI}", "jobs", jobs, "timeout_s", (json_int_t)(left > 0 ? left : 0)));
		if (!answer || json_is_true(json_object_get(answer, "done")) || (timeout >= 0 && clock_ms() >= until))
			return answer;
		json_decref(answer);
	}
}

int wait_status(const json_t *answer)
{
	const json_t *job;
	int status = EXIT_OK;
	size_t i;

	json_array_foreach (json_object_get(answer, "jobs"), i, job) {
		int own = outcome_status(job);

		status = own > status ? own : status;
	}
	return status;
}

void wait_print(const json_t *answer, FILE *out)
{
	const json_t *job;
	size_t i;

	json_array_foreach (json_object_get(answer, "jobs"), i, job) {
		char *words = outcome_words(job);
		const char *label = format_text(job, "label");

		fprintf(out, "%s: %s\n", label[0] ? label : format_count(json_object_get(job, "job_id")).s, words);
		free(words);
	}
}

/* Print how a step failed. For the only step of a job print just the message, because the end of the job is printed already. */
static void reason_print(const json_t *step, bool only, FILE *out)
{
	const char *message = format_text(step, "message");
	char *words = outcome_words(step);

	if (!only)
		fprintf(out, "%s: %s%s%s\n", format_text(step, "label"), words, message[0] ? ": " : "", message);
	else if (message[0])
		fprintf(out, "%s: %s\n", format_text(step, "label"), message);
	free(words);
}

void wait_reasons(const json_t *answer, FILE *out)
{
	const json_t *job, *shown, *step;
	size_t i, at, count = 0;

	json_array_foreach (json_object_get(answer, "jobs"), i, job) {
		const json_t *steps;
		json_t *show;

		if (!outcome_status(job) || count >= WAIT_REASONS)
			continue;
		show = call_gate_patiently("show", json_pack("{s[s]}", "jobs", format_count(json_object_get(job, "job_id")).s));
		shown = json_array_get(json_object_get(show, "jobs"), 0);
		steps = json_object_get(shown, "steps");
		json_array_foreach (steps, at, step)
			if (outcome_status(step) && strcmp(format_text(step, "state"), "skipped") && count++ < WAIT_REASONS)
				reason_print(step, json_array_size(steps) == 1, out);
		json_decref(show);
	}
	if (count > WAIT_REASONS)
		fprintf(out, "... and %zu more\n", count - WAIT_REASONS);
}
