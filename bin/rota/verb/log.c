/* log.c - `rota log`: prints the output of a step unchanged, or of several steps with the name of the step before each line
 * (log_many.c). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/output/log_many.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "lib/clock.h"

enum { LOG_ATTEMPT = 256 };

const struct verb_option log_options[] = {
	{'f', "follow", NULL, "go on printing the output as the steps write it, until they have ended"},
	{'e', "error", NULL, "standard error instead of standard output"},
	{LOG_ATTEMPT, "attempt", "N", "the output of attempt N of the step; default: the latest that has started"},
	{'n', "lines", "N", "only the last N lines of each step so far"},
	{VERB_JSON, "json", NULL, "print each line as a JSON object"},
	{0, NULL, NULL, NULL},
};

/* Returns the step whose output is one file: the named step, or the only step of a job. An array counts if its elements share
 * a file. Returns NULL if there are several files. */
static json_t *step_in(const struct log *log, const json_t *answer)
{
	const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0);
	json_t *steps = json_object_get(job, "steps"), *step = json_array_get(steps, 0), *element;
	char *whole, *own;
	bool same;

	if (json_array_size(steps) != 1)
		return NULL;
	if (!json_is_object(json_object_get(step, "array")))
		return step;
	element = json_copy(step);
	json_object_set_new(element, "array_index", json_integer(0));
	whole = log_path(log, job, step, 0);
	own = log_path(log, job, element, 0);
	same = whole && own && !strcmp(whole, own);
	free(whole);
	free(own);
	json_decref(element);
	return same ? step : NULL;
}

/* Request the jobs of the operand from jobmgrd. Returns NULL after a refusal. */
static json_t *log_ask(const struct log *log)
{
	return call_gate_patiently("show", json_pack("{sO}", "jobs", log->operands));
}

/* Update the state of the step, at most twice a second. Returns false if jobmgrd refused the request. */
static bool log_refresh(const struct log *log, struct log_file *f, int64_t *asked)
{
	json_t *answer, *step;

	if (clock_ms() - *asked < LOG_ASK_EVERY)
		return true;
	answer = log_ask(log);
	*asked = clock_ms();
	step = answer ? step_in(log, answer) : NULL;
	if (step)
		log_file_update(f, json_array_get(json_object_get(answer, "jobs"), 0), step);
	json_decref(answer);
	return step;
}

/* Print the output file until the step has ended and all of the file is read. Waits for the file to exist. Continues with the
 * files of later attempts. */
static int log_follow(const struct log *log, struct log_file *f)
{
	int64_t asked = 0;
	bool ok, last = f->ended;
	int status = EXIT_OK;

	f->watcher = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (;;) {
		ok = log_file_read(f);
		if (!ok || last)
			break;
		if (!log_refresh(log, f, &asked)) {
			status = call_status();
			f->ended = true;
		}
		last = f->ended;
		if (!last && f->attempt >= f->latest)
			log_rest(f->fd < 0 ? -1 : f->watcher);
	}
	if (f->fd < 0 && status == EXIT_OK) {
		log_file_print_error(f, ok ? ENOENT : errno);
		status = EXIT_REFUSED;
	}
	close(f->watcher);
	return ok ? status : EXIT_REFUSED;
}

/* Print the present content of the output file. */
static int log_print(struct log_file *f)
{
	bool ok = log_file_read(f);

	if (f->fd >= 0)
		return ok ? EXIT_OK : EXIT_REFUSED;
	log_file_print_error(f, ok ? ENOENT : errno);
	return EXIT_REFUSED;
}

/* Returns true, after printing an error, if the output is hidden from the caller. */
static bool is_private(const struct log *log, const json_t *answer)
{
	const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0);
	char *path = log_path(log, job, json_array_get(json_object_get(job, "steps"), 0), 0);

	if (!path)
		fprintf(stderr, "rota: the output of %s is private: only its owner may read it\n",
			json_string_value(json_array_get(log->operands, 0)));
	free(path);
	return !path;
}

/* Returns true, after printing an error, if another step of the job has overwritten the file of a step that has ended. */
static bool is_overwritten(const struct log *log, const json_t *job, const json_t *step, const char *path)
{
	const char *label = format_text(step, "label");
	bool found = false;
	json_t *answer, *whole, *other;
	size_t i;

	if (!log_ended(log, step) || json_integer_value(json_object_get(job, "steps_total")) == 1)
		return false;
	answer = call_gate_patiently("show", json_pack("{s[o]}", "jobs", json_sprintf("%.*s", (int)strcspn(label, "."), label)));
	whole = json_array_get(json_object_get(answer, "jobs"), 0);
	json_array_foreach (json_object_get(whole, "steps"), i, other) {
		found = log_is_overwritten(log, whole, step, other, path);
		if (found)
			break;
	}
	if (found)
		fprintf(stderr,
			"rota: what %s wrote is gone: %s overwrote \"%s\"\n"
			"hint: With %%x in --%s each step has a file of its own.\n",
			label, format_text(other, "label"), path, log->key);
	json_decref(answer);
	return found;
}

/* Print the output file of one step. */
static int file_print(const struct log *log, json_t *answer, json_t *step)
{
	struct lines lines = {.json = true};
	struct log_file f = {.log = log, .lines = log->json ? &lines : NULL, .watcher = -1, .fd = -1, .watch = -1};
	int status = EXIT_REFUSED;

	if (!log->attempt && log_is_unstarted(step)) {
		log_print_unstarted(log, step);
		return status;
	}
	log_file_update(&f, json_array_get(json_object_get(answer, "jobs"), 0), step);
	if ((!log->attempt || log_attempt_check(log, f.job, step, f.path)) && !is_overwritten(log, f.job, step, f.path))
		status = log->follow ? log_follow(log, &f) : log_print(&f);
	if (status == EXIT_OK)
		log_file_explain(&f);
	log_file_end(&f);
	return status;
}

int verb_log(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct log log = {.key = "output", .lines = -1};
	json_t *answer, *step;
	int status;

	for (int id; (id = verb_next(&scan));) {
		if (id == 'e')
			log.key = "error";
		else if (id == LOG_ATTEMPT)
			log.attempt = verb_number(&scan, 1, 1000000000);
		else if (id == 'n')
			log.lines = verb_number(&scan, 0, 1000000000);
		else if (id == VERB_JSON)
			log.json = true;
		else
			log.follow = true;
	}
	verb_operands(&scan, 1, 1);
	log.operands = words_operands(&scan);
	answer = log_ask(&log);
	step = answer ? step_in(&log, answer) : NULL;
	if (!answer)
		status = call_status();
	else if (is_private(&log, answer))
		status = EXIT_REFUSED;
	else
		status = step ? file_print(&log, answer, step) : log_many(&log);
	json_decref(answer);
	json_decref(log.operands);
	return status;
}
