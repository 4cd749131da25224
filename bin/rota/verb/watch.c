/* watch.c - `rota watch`: shows the steps of a job until the job ends, or several jobs (watch_many.c). Exits with the exit
 * status of the job.
 *
 * Long-polls `show` from a cursor. On a terminal, the picture is redrawn in place (picture.c). In a pipe or file, each change
 * of a step's state is printed as a line. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/keys.h"
#include "bin/rota/jobs/mine.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/print/picture.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/jobs/watch_many.h"
#include "bin/rota/line/words.h"
#include "lib/clock.h"

enum {
	WATCH_LINES = 256,
	WATCH_ROUND = 30,
	REFRESH_OFTEN_MS = 1000,
	REFRESH_MS = 5000,
	LONGEST_BREATH = 3000,
	DATE = sizeof("2000-01-01 ") - 1
};

const struct verb_option watch_options[] = {
	{WATCH_LINES, "lines", NULL, "print a line for each change, also on a terminal"},
	{VERB_JSON, "json", NULL,
	 "print the job with its steps as one line of JSON at each change; of several jobs, without their steps"},
	{0, NULL, NULL, NULL},
};

/* State of a step as last printed. */
struct printed_step {
	char *state;
	long long attempt, tenths;
};

struct watch {
	json_t *jobs; /* jobs on the command line */
	bool lines, json;
	struct printed_step *printed; /* last printed states, by position in the list of steps */
	size_t count;
	char *text;	 /* last line of JSON that was printed */
	bool quit;	 /* `q` was pressed */
	int64_t read_ms; /* time of the last answer that had the job, by clock_ms() */
};

/* Print a line for a step whose state has changed. */
static void step_line(const json_t *step)
{
	const char *state = format_text(step, "state"), *nodes = format_text(step, "nodes");
	char *words = outcome_words(step);
	struct word when = format_state_final(state) ? format_time(json_object_get(step, "ended_at")) : format_moment(time(NULL));
	int attempt = (int)json_integer_value(json_object_get(step, "attempt"));

	printf("%s %s %s", strlen(when.s) > DATE ? when.s + DATE : when.s, format_text(step, "label"), words);
	if (attempt > 1)
		printf(", attempt %d", attempt);
	if (nodes[0])
		printf(" on %s", nodes);
	if (format_state_final(state) && json_is_number(json_object_get(step, "elapsed_s")))
		printf(" after %s", format_ran(step).s);
	if (format_text(step, "message")[0])
		printf(": %s", format_text(step, "message"));
	putchar('\n');
	free(words);
}

/* Returns how many tenths of an array have ended. */
static long long tenths_of(const json_t *step)
{
	const json_t *array = json_object_get(step, "array");
	long long size = json_integer_value(json_object_get(array, "size"));

	return size ? (json_integer_value(json_object_get(array, "completed")) +
		       json_integer_value(json_object_get(array, "failed"))) *
			       10 / size
		    : 0;
}

/* Print a line for an array of which another tenth has ended. */
static void array_line(const json_t *step)
{
	const json_t *array = json_object_get(step, "array");
	long long failed = json_integer_value(json_object_get(array, "failed"));

	printf("%s %s %lld of %lld ended", format_moment(time(NULL)).s + DATE, format_text(step, "label"),
	       (long long)json_integer_value(json_object_get(array, "completed")) + failed,
	       (long long)json_integer_value(json_object_get(array, "size")));
	if (failed)
		printf(", %lld failed", failed);
	putchar('\n');
}

/* Print the changes of steps since the last answer. Every step begins as pending, so that first state is not printed. */
static void lines_print(struct watch *w, const json_t *job)
{
	const json_t *steps = json_object_get(job, "steps"), *step;
	size_t i, count = json_array_size(steps);

	if (count > w->count) {
		w->printed = xrealloc(w->printed, count * sizeof(*w->printed));
		memset(w->printed + w->count, 0, (count - w->count) * sizeof(*w->printed));
		w->count = count;
	}
	json_array_foreach (steps, i, step) {
		const char *state = format_text(step, "state");
		long long attempt = json_integer_value(json_object_get(step, "attempt"));
		struct printed_step *before = &w->printed[i];

		if (tenths_of(step) > before->tenths && !format_state_final(state))
			array_line(step);
		if (!before->state ? strcmp(state, "pending") : strcmp(before->state, state) || before->attempt != attempt)
			step_line(step);
		free(before->state);
		*before = (struct printed_step){xstrdup(state), attempt, tenths_of(step)};
	}
	fflush(stdout);
}

static bool job_has_ended(const json_t *job)
{
	return format_state_final(format_text(job, "state"));
}

/* Print the job as one line of JSON, unless nothing changed since the last line. */
static void json_print(struct watch *w, const json_t *job)
{
	char *text = json_dumps(job, JSON_COMPACT);

	if (text && w->text && !strcmp(text, w->text)) {
		free(text);
		return;
	}
	free(w->text);
	w->text = text;
	puts(text ? text : "{}");
	fflush(stdout);
}

/* Poll jobmgrd once and update *cursor. Returns NULL if jobmgrd does not answer or refuses. */
static json_t *watch_poll(const struct watch *w, json_t **cursor)
{
	json_t *request = json_pack("{sO sI}", "jobs", w->jobs, "timeout_s", (json_int_t)(w->lines ? WATCH_ROUND : 1)), *answer;

	if (*cursor)
		json_object_set(request, "since", *cursor);
	answer = call_gate_patiently("show", request);
	if (answer && call_waited())
		picture_forget();
	if (answer && json_object_get(answer, "cursor")) {
		json_decref(*cursor);
		*cursor = json_incref(json_object_get(answer, "cursor"));
	}
	return answer;
}

/* Returns the milliseconds between two polls: more for jobs with many steps, whose answers cost more. */
static int watch_pause_ms(const json_t *answer)
{
	size_t steps = json_array_size(json_object_get(json_array_get(json_object_get(answer, "jobs"), 0), "steps"));

	return 50 + (steps < LONGEST_BREATH ? (int)steps : LONGEST_BREATH);
}

/* Returns after how many milliseconds without an event the job is read again; 0: never. Sub-steps make no events, so their
 * numbers are read again: often while some wait or run, else seldom while a step runs, which may start some. */
static int refresh_ms(const json_t *answer)
{
	const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0), *step;
	bool runs = false;
	size_t i;

	json_array_foreach (json_object_get(job, "steps"), i, step) {
		const json_t *totals = json_object_get(step, "substeps");

		if (json_integer_value(json_object_get(totals, "waiting")) +
		    json_integer_value(json_object_get(totals, "running")))
			return REFRESH_OFTEN_MS;
		runs |= !strcmp(format_text(step, "state"), "running");
	}
	return runs ? REFRESH_MS : 0;
}

/* Returns true if the job must be read again without a cursor, although no event has come since the last answer. */
static bool is_stale(const struct watch *w, const json_t *last)
{
	int after = w->lines || w->json ? 0 : refresh_ms(last);

	return after && clock_ms() - w->read_ms >= after;
}

/* Watch until the job has ended. Returns the last answer, NULL after a failure. */
static json_t *watch_follow(struct watch *w)
{
	json_t *cursor = NULL, *last = NULL;

	for (;;) {
		json_t *answer = watch_poll(w, &cursor);

		if (!answer) {
			json_decref(last);
			last = NULL;
			break;
		}
		/* no jobs in the answer: nothing changed, so the last answer is still valid */
		if (last && !json_array_size(json_object_get(answer, "jobs"))) {
			json_decref(answer);
			if (is_stale(w, last)) {
				json_decref(cursor);
				cursor = NULL;
			}
		} else {
			json_decref(last);
			last = answer;
			w->read_ms = clock_ms();
		}
		if (w->json)
			json_print(w, json_array_get(json_object_get(last, "jobs"), 0));
		else if (w->lines)
			lines_print(w, json_array_get(json_object_get(last, "jobs"), 0));
		else
			picture_draw(json_array_get(json_object_get(last, "jobs"), 0));
		if (job_has_ended(json_array_get(json_object_get(last, "jobs"), 0)))
			break;
		w->quit = keys_rest(watch_pause_ms(last));
		if (w->quit)
			break;
	}
	json_decref(cursor);
	return last;
}

int verb_watch(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct watch w = {.lines = !isatty(STDOUT_FILENO)};
	const json_t *job;
	json_t *last;
	int status;

	for (int id; (id = verb_next(&scan));) {
		w.json |= id == VERB_JSON;
		w.lines = true;
	}
	for (int i = 0; i < scan.operands; i++)
		if (strpbrk(argv[scan.at + i], "._["))
			verb_misuse(scan.verb, "\"%s\" is a step; name its job", argv[scan.at + i]);
	w.jobs = scan.operands ? words_operands(&scan) : mine_jobs();
	if (json_array_size(w.jobs) != 1) {
		status = !w.jobs ? call_status() : json_array_size(w.jobs) ? watch_many(w.jobs, w.lines, w.json) : EXIT_OK;
		json_decref(w.jobs);
		return status;
	}
	if (!w.lines)
		keys_take(picture_leave, 128 + SIGINT);
	last = watch_follow(&w);
	picture_leave();
	job = json_array_get(json_object_get(last, "jobs"), 0);
	status = w.quit ? EXIT_OK : last ? outcome_status(job) : call_status();
	if (last && w.lines && !w.json) {
		char *words = outcome_words(job);

		printf("job %lld %s\n", (long long)json_integer_value(json_object_get(job, "job_id")), words);
		free(words);
	}
	for (size_t i = 0; i < w.count; i++)
		free(w.printed[i].state);
	free(w.printed);
	free(w.text);
	json_decref(last);
	json_decref(w.jobs);
	return status;
}
