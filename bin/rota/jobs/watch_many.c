/* watch_many.c - polls all jobs in one request of `queue`; the more jobs, the longer the pause. */
#include "bin/rota/jobs/watch_many.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/keys.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/print/picture.h"
#include "bin/rota/print/queue_table.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/jobs/wait.h"
#include "lib/err.h"
#include "lib/text.h"

enum { WATCH_LEAST = 1000, WATCH_MOST = 10000, DATE = sizeof("2000-01-01 ") - 1 };

static bool has_ended(const json_t *job)
{
	return format_state_final(format_text(job, "state"));
}

static bool all_ended(const json_t *jobs)
{
	const json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job)
		if (!has_ended(job))
			return false;
	return true;
}

static void row_add(struct table *table, const json_t *job)
{
	double seconds = format_ran_seconds(job);
	struct word id = format_count(json_object_get(job, "job_id")), limit = format_count(json_object_get(job, "time_limit_s")),
		    ran = {""}, steps;
	const char *nodes = format_text(job, "nodes");
	const char *fields[QUEUE_COLUMNS] = {
		[QUEUE_JOB] = id.s,
		[QUEUE_NAME] = format_text(job, "name"),
		[QUEUE_USER] = format_text(job, "user"),
		[QUEUE_PARTITION] = format_text(job, "partition"),
		[QUEUE_STATE] = format_text(job, "state"),
		[QUEUE_STEPS] = steps.s,
		[QUEUE_ELAPSED] = ran.s,
		[QUEUE_TIME_LIMIT] = limit.s,
		[QUEUE_PLACE] = nodes[0] ? nodes : format_text(job, "reason"),
	};

	if (seconds >= 0)
		snprintf(ran.s, sizeof(ran.s), "%lld", (long long)seconds);
	snprintf(steps.s, sizeof(steps.s), "%lld/%lld", (long long)json_integer_value(json_object_get(job, "steps_done")),
		 (long long)json_integer_value(json_object_get(job, "steps_total")));
	queue_table_add((char **)fields, table);
}

/* Draw the jobs that fit on the screen; those that have not ended come first. */
static void table_draw(const json_t *jobs)
{
	size_t room = (size_t)picture_room() - 2, count = json_array_size(jobs), skip = count > room ? count - room : 0,
	       shown = 0, i;
	struct table *table = queue_table_new();
	const json_t *job;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	json_array_foreach (jobs, i, job) {
		if (skip && has_ended(job)) {
			skip--;
		} else if (shown < room) {
			row_add(table, job);
			shown++;
		}
	}
	table_print(table, out, false);
	table_free(table);
	if (shown < count)
		fprintf(out, "... and %zu more job%s\n", count - shown, text_plural((int64_t)(count - shown)));
	if (fclose(out))
		die("out of memory");
	picture_text(text);
	free(text);
}

/* Print a line for a job whose state has changed. The outcome of jobs is printed only after all jobs have ended. */
static void change_print(const json_t *job)
{
	const char *state = format_text(job, "state"), *nodes = format_text(job, "nodes");
	struct word when = has_ended(job) ? format_time(json_object_get(job, "ended_at")) : format_moment(time(NULL));

	printf("%s job %lld %s", strlen(when.s) > DATE ? when.s + DATE : when.s,
	       (long long)json_integer_value(json_object_get(job, "job_id")), state);
	if (nodes[0])
		printf(" on %s", nodes);
	putchar('\n');
}

/* Print the changes of job states since the last answer. Every job begins as pending, so that first state is not printed. */
static void changes_print(json_t *states, const json_t *jobs, bool json)
{
	const json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job) {
		struct word id = format_count(json_object_get(job, "job_id"));
		const char *before = json_string_value(json_object_get(states, id.s)), *now = format_text(job, "state");

		if (before && !strcmp(before, now))
			continue;
		if (json) {
			json_dumpf(job, stdout, JSON_COMPACT);
			putchar('\n');
		} else if (before || strcmp(now, "pending")) {
			change_print(job);
		}
		json_object_set_new(states, id.s, json_string(now));
	}
	fflush(stdout);
}

/* Print how each job ended; returns the exit status. */
static int watch_end(const json_t *jobs, bool print)
{
	json_t *answer = wait_jobs(jobs, 0);
	const json_t *job;
	size_t i;
	int status = answer ? wait_status(answer) : call_status();

	json_array_foreach (json_object_get(answer, "jobs"), i, job) {
		char *words = outcome_words(job);

		if (print)
			printf("job %lld %s\n", (long long)json_integer_value(json_object_get(job, "job_id")), words);
		free(words);
	}
	json_decref(answer);
	return status;
}

int watch_many(const json_t *jobs, bool lines, bool json)
{
	int pause = WATCH_LEAST + (int)json_array_size(jobs);
	bool quit = false, ended = false, failed = false;
	json_t *states = json_object();

	if (!lines)
		keys_take(picture_leave, 128 + SIGINT);
	while (!quit && !ended && !failed) {
		json_t *answer = call_gate_patiently("queue", json_pack("{sO}", "jobs", jobs));
		const json_t *rows = json_object_get(answer, "jobs");

		if (answer && call_waited())
			picture_forget();
		if (answer && lines)
			changes_print(states, rows, json);
		else if (answer)
			table_draw(rows);
		failed = !answer;
		ended = answer && all_ended(rows);
		quit = !failed && !ended && keys_rest(pause < WATCH_MOST ? pause : WATCH_MOST);
		json_decref(answer);
	}
	picture_leave();
	json_decref(states);
	return failed ? call_status() : quit ? EXIT_OK : watch_end(jobs, lines && !json);
}
