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

/* Print the elements of an array that failed; an array that is the only step of its job is named by the job. Returns their number. */
static size_t elements_print(const json_t *step, bool only, size_t most, FILE *out)
{
	const char *label = format_text(step, "label");
	char *job = xasprintf("%.*s", (int)strcspn(label, "."), label), *head = xasprintf("%s[", label);
	json_t *answer = call_gate_patiently("acct", json_pack("{s[s] sb s[ssssssss]}", "jobs", job, "steps", true, "states",
							       "failed", "timeout", "out_of_memory", "node_fail", "cancelled",
							       "preempted", "deadline", "dependency_failed"));
	const json_t *row;
	size_t i, count = 0;

	json_array_foreach (json_object_get(answer, "rows"), i, row) {
		const char *element = format_text(row, "label");

		if (strncmp(element, head, strlen(head)) != 0 || count++ >= most)
			continue;
		char *words = outcome_words(row);
		fprintf(out, "%s%s: %s\n", only ? job : label, element + strlen(label), words);
		free(words);
	}
	json_decref(answer);
	free(head);
	free(job);
	return count;
}

/* Print how a step failed, and its elements. Returns the number of lines, of which at most `most` were printed. */
static size_t step_print(const json_t *step, bool only, bool elements, size_t most, FILE *out)
{
	size_t count = 0;

	if (!outcome_status(step) || !strcmp(format_text(step, "state"), "skipped"))
		return 0;
	if (!elements && count++ < most)
		reason_print(step, only, out);
	if (json_integer_value(json_object_get(json_object_get(step, "array"), "failed")) > 0)
		count += elements_print(step, only, most > count ? most - count : 0, out);
	return count;
}

void wait_reasons(const json_t *answer, bool elements, FILE *out)
{
	const json_t *job, *shown, *step;
	size_t i, at, count = 0;

	json_array_foreach (json_object_get(answer, "jobs"), i, job) {
		const json_t *steps;
		json_t *show;

		if (!outcome_status(job) || json_object_get(job, "step_id") || count >= WAIT_REASONS)
			continue;
		show = call_gate_patiently("show", json_pack("{s[s]}", "jobs", format_count(json_object_get(job, "job_id")).s));
		shown = json_array_get(json_object_get(show, "jobs"), 0);
		steps = json_object_get(shown, "steps");
		json_array_foreach (steps, at, step)
			count += step_print(step, json_array_size(steps) == 1, elements,
					    count < WAIT_REASONS ? WAIT_REASONS - count : 0, out);
		json_decref(show);
	}
	if (count > WAIT_REASONS)
		fprintf(out, "... and %zu more\n", count - WAIT_REASONS);
}
