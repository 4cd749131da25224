/* watch.c - `rota watch`: a job's steps as they go on, until it ends, or several jobs (watch_many.c); exits as the job did.
 *
 * Long-polls `show` from a cursor. On a terminal the picture is redrawn in place (picture.c); into a pipe or file goes one line for
 * each change of a step's state. */
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

enum { WATCH_LINES = 256, WATCH_ROUND = 30, LONGEST_BREATH = 3000, DATE = sizeof("2000-01-01 ") - 1 };

const struct verb_option watch_options[] = {
	{WATCH_LINES, "lines", NULL, "print a line for each change, on a terminal too"},
	{VERB_JSON, "json", NULL,
	 "print the job and its steps as JSON, on a line, at each change; of several, each job without its steps"},
	{0, NULL, NULL, NULL},
};

/* What was told of a step last. */
struct told {
	char *state;
	long long attempt, tenths;
};

struct watch {
	json_t *jobs; /* the operands */
	bool lines, json;
	struct told *told; /* by position in the list of steps */
	size_t count;
	char *text; /* --json: what was printed last */
	bool quit;  /* `q` was pressed */
};

/* A line for a step whose state has changed. */
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

/* How far an array has come, in tenths. */
static long long tenths_of(const json_t *step)
{
	const json_t *array = json_object_get(step, "array");
	long long size = json_integer_value(json_object_get(array, "size"));

	return size ? (json_integer_value(json_object_get(array, "completed")) +
		       json_integer_value(json_object_get(array, "failed"))) *
			       10 / size
		    : 0;
}

/* A line for an array of which another tenth has ended. */
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

/* Tell what is new since the last answer. Waiting is where every step begins, so that is not told. */
static void lines_print(struct watch *w, const json_t *job)
{
	const json_t *steps = json_object_get(job, "steps"), *step;
	size_t i, count = json_array_size(steps);

	if (count > w->count) {
		w->told = xrealloc(w->told, count * sizeof(*w->told));
		memset(w->told + w->count, 0, (count - w->count) * sizeof(*w->told));
		w->count = count;
	}
	json_array_foreach (steps, i, step) {
		const char *state = format_text(step, "state");
		long long attempt = json_integer_value(json_object_get(step, "attempt"));
		struct told *told = &w->told[i];

		if (tenths_of(step) > told->tenths && !format_state_final(state))
			array_line(step);
		if (!told->state ? strcmp(state, "pending") : strcmp(told->state, state) || told->attempt != attempt)
			step_line(step);
		free(told->state);
		*told = (struct told){xstrdup(state), attempt, tenths_of(step)};
	}
	fflush(stdout);
}

static bool ended(const json_t *job)
{
	return format_state_final(format_text(job, "state"));
}

/* The job as JSON on a line, unless it is as it was told last. */
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

/* One look; *cursor moves on. NULL when the gate would not answer. */
static json_t *look(const struct watch *w, json_t **cursor)
{
	json_t *request = json_pack("{sO sI}", "jobs", w->jobs, "timeout_s", (json_int_t)(w->lines ? WATCH_ROUND : 1)), *answer;

	if (*cursor)
		json_object_set(request, "since", *cursor);
	answer = call_gate_patiently("show", request, CALL_LONG);
	if (answer && call_waited())
		picture_forget();
	if (answer && json_object_get(answer, "cursor")) {
		json_decref(*cursor);
		*cursor = json_incref(json_object_get(answer, "cursor"));
	}
	return answer;
}

/* Milliseconds between two looks: the more steps an answer has, the dearer it is, and the less one can read at a time. */
static int breath(const json_t *answer)
{
	size_t steps = json_array_size(json_object_get(json_array_get(json_object_get(answer, "jobs"), 0), "steps"));

	return 50 + (steps < LONGEST_BREATH ? (int)steps : LONGEST_BREATH);
}

/* Until the job has ended; the last answer, NULL after a failure. */
static json_t *follow(struct watch *w)
{
	json_t *cursor = NULL, *last = NULL;

	for (;;) {
		json_t *answer = look(w, &cursor);

		if (!answer) {
			json_decref(last);
			last = NULL;
			break;
		}
		/* "changed": false: nothing happened, what was shown last still holds. */
		if (last && !json_array_size(json_object_get(answer, "jobs"))) {
			json_decref(answer);
		} else {
			json_decref(last);
			last = answer;
		}
		if (w->json)
			json_print(w, json_array_get(json_object_get(last, "jobs"), 0));
		else if (w->lines)
			lines_print(w, json_array_get(json_object_get(last, "jobs"), 0));
		else
			picture_draw(json_array_get(json_object_get(last, "jobs"), 0));
		if (ended(json_array_get(json_object_get(last, "jobs"), 0)))
			break;
		w->quit = keys_rest(breath(last));
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
	last = follow(&w);
	picture_leave();
	job = json_array_get(json_object_get(last, "jobs"), 0);
	status = w.quit ? EXIT_OK : last ? outcome_status(job) : call_status();
	if (last && w.lines && !w.json) {
		char *words = outcome_words(job);

		printf("job %lld %s\n", (long long)json_integer_value(json_object_get(job, "job_id")), words);
		free(words);
	}
	for (size_t i = 0; i < w.count; i++)
		free(w.told[i].state);
	free(w.told);
	free(w.text);
	json_decref(last);
	json_decref(w.jobs);
	return status;
}
