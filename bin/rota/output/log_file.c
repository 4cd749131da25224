/* log_file.c - reads the output file of a step (log_file.h).
 *
 * Called by: `rota log` and log_many.c.
 * Invariants:
 * - jobmgrd answers with the path of the file and the state of the step. log_plain.c opens the file. */
#include "bin/rota/output/log_file.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/print/attempts.h"
#include "bin/rota/print/format.h"
#include "bin/rota/output/log_plain.h"
#include "bin/rota/output/output.h"
#include "bin/rota/instance/process.h"
#include "lib/err.h"

char *log_path(const struct log *log, const json_t *job, const json_t *step, json_int_t attempt)
{
	json_t *row = attempts_row(step, attempt);
	const json_t *source = row ? row : step;
	char *path = output_path(job, source, log->key);

	if (!path && json_is_string(json_object_get(step, "output")))
		path = output_path(job, source, "output");
	json_decref(row);
	return path;
}

bool log_is_unstarted(const json_t *step)
{
	return attempts_is_unstarted(step) && format_state_final(format_text(step, "state"));
}

/* Returns the number of the latest attempt whose start or end is reported; 0: none. The output file of an attempt exists before
 * the start of the attempt is reported. */
json_int_t log_attempt_latest(const struct log *log, const json_t *step)
{
	const json_t *attempt;
	json_int_t latest = 0;
	size_t i;

	if (!log->attempt && log_is_unstarted(step))
		return 0;
	json_array_foreach (json_object_get(step, "attempts"), i, attempt)
		if (json_is_string(json_object_get(attempt, "started_at")) ||
		    json_is_string(json_object_get(attempt, "ended_at")))
			latest = json_integer_value(json_object_get(attempt, "attempt"));
	return latest;
}

bool log_attempt_check(const struct log *log, const json_t *job, const json_t *step, const char *path)
{
	const json_t *attempts = json_object_get(step, "attempts"),
		     *last = json_array_get(attempts, json_array_size(attempts) - 1);
	json_int_t latest = log_attempt_latest(log, step), count = json_integer_value(json_object_get(last, "attempt"));
	bool same = false;

	if (log->attempt > count) {
		fprintf(stderr, "rota: %s has no attempt %ld; its latest is %lld\n", format_text(step, "label"), log->attempt,
			(long long)count);
		return false;
	}
	for (json_int_t later = log->attempt + 1; later <= latest && !same; later++) {
		char *other = log_path(log, job, step, later);

		same = other && !strcmp(other, path) && strcmp(format_text(step, "open_mode"), "append");
		free(other);
	}
	if (same)
		fprintf(stderr,
			"rota: what attempt %ld of %s wrote is gone: a later attempt overwrote \"%s\"\n"
			"hint: With %%R or %%r in --%s each attempt has a file of its own.\n",
			log->attempt, format_text(step, "label"), path, log->key);
	return !same;
}

static double time_of(const struct log *log, const json_t *step, const char *key)
{
	json_t *row = attempts_row(step, log->attempt);
	double seconds = 0;

	if (!format_time_parse(format_text(row ? row : step, key), &seconds))
		seconds = 0;
	json_decref(row);
	return seconds;
}

double log_ended(const struct log *log, const json_t *step)
{
	return time_of(log, step, "ended_at");
}

double log_truncated(const struct log *log, const json_t *step)
{
	return strcmp(format_text(step, "open_mode"), "append") ? time_of(log, step, "started_at") : 0;
}

bool log_is_overwritten(const struct log *log, const json_t *job, const json_t *step, const json_t *other, const char *path)
{
	const struct log latest = {.key = log->key};
	double ended = log_ended(log, step);
	char *file;
	bool same;

	if (!ended || log_truncated(&latest, other) < ended ||
	    json_equal(json_object_get(step, "step_id"), json_object_get(other, "step_id")))
		return false;
	file = log_path(&latest, job, other, log_attempt_latest(&latest, other));
	same = file && !strcmp(file, path);
	free(file);
	return same;
}

void log_file_update(struct log_file *f, json_t *job, json_t *step)
{
	json_t *row = attempts_row(step, f->log->attempt), *before = f->job;

	f->latest = f->log->attempt ? f->log->attempt : log_attempt_latest(f->log, step);
	f->ended = format_state_final(format_text(row ? row : step, "state"));
	if (!f->path) {
		f->attempt = f->latest;
		f->path = log_path(f->log, job, step, f->attempt);
	}
	json_decref(row);
	f->job = json_incref(job);
	f->step = step;
	json_decref(before);
}

/* Returns true if the file is shorter than the part that was printed: then a later attempt has truncated it. */
static bool file_is_truncated(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < lseek(fd, 0, SEEK_CUR);
}

/* Print the rest of the file. Returns false if reading or printing failed. */
static bool file_print(struct log_file *f)
{
	char block[65536];
	ssize_t got = 0;

	if (file_is_truncated(f->fd)) {
		lseek(f->fd, 0, SEEK_SET);
		f->renewed = true;
	}
	while (!ferror(stdout) && (got = read(f->fd, block, sizeof(block))) > 0)
		if (f->lines)
			lines_print(f->lines, block, (size_t)got);
		else
			fwrite(block, 1, (size_t)got, stdout);
	return !ferror(stdout) && got == 0 && !fflush(stdout);
}

/* Seek to the beginning of the last `lines` lines of the file, or to its end if `lines` is 0. */
static void tail_seek(int fd, long lines)
{
	off_t at = lseek(fd, 0, SEEK_END);
	char block[4096];
	bool first = true;

	if (!lines)
		return;
	while (at > 0) {
		off_t from = at > (off_t)sizeof(block) ? at - (off_t)sizeof(block) : 0;
		ssize_t got = pread(fd, block, (size_t)(at - from), from);

		if (got <= 0)
			break;
		for (ssize_t i = got - 1; i >= 0; i--) {
			/* the last newline of the file ends a line and does not begin another one */
			if (block[i] == '\n' && !first && lines-- <= 1) {
				lseek(fd, from + i + 1, SEEK_SET);
				return;
			}
			first = false;
		}
		at = from;
	}
	lseek(fd, 0, SEEK_SET);
}

static void file_close(struct log_file *f)
{
	if (f->fd < 0)
		return;
	if (f->watch >= 0)
		inotify_rm_watch(f->watcher, f->watch);
	close(f->fd);
	f->fd = f->watch = -1;
}

/* Open the file if it exists. Returns false if it exists and cannot be opened. */
static bool file_open(struct log_file *f)
{
	bool first = !f->opened;
	char opened[64];
	struct stat st;

	f->opened = true;
	if (f->fd >= 0)
		return true;
	f->fd = log_plain_open(f->path, json_string_value(json_object_get(f->job, "user")), &f->plain);
	if (f->fd < 0)
		return f->plain && errno == ENOENT;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", f->fd);
	f->watch = f->watcher < 0 ? -1 : inotify_add_watch(f->watcher, opened, IN_MODIFY | IN_CLOSE_WRITE);
	/* a file that did not exist before is printed from its beginning */
	if (first && f->at && !fstat(f->fd, &st) && st.st_size >= f->at)
		lseek(f->fd, f->at, SEEK_SET);
	else if (first && f->log->lines >= 0)
		tail_seek(f->fd, f->log->lines);
	return true;
}

/* Continue with the next attempt. Returns false if there is none. If the next attempt overwrites the file, read the file from
 * its beginning, since file_is_truncated() cannot detect that in a file that has grown again. */
static bool attempt_next(struct log_file *f)
{
	char *path;

	if (f->attempt >= f->latest)
		return false;
	if (f->lines)
		lines_end(f->lines);
	path = log_path(f->log, f->job, f->step, f->attempt + 1);
	if (path && strcmp(path, f->path)) {
		file_close(f);
		free(f->path);
		f->path = path;
		path = NULL;
	} else if (f->fd >= 0 && f->attempt && !f->renewed && strcmp(format_text(f->step, "open_mode"), "append")) {
		lseek(f->fd, 0, SEEK_SET);
	}
	free(path);
	f->attempt++;
	f->renewed = false;
	return true;
}

bool log_file_read(struct log_file *f)
{
	do {
		if (!file_open(f) || (f->fd >= 0 && !file_print(f)))
			return false;
	} while (attempt_next(f));
	return true;
}

/* Returns true if tasks of any attempt of the step have started. */
static bool has_run(const json_t *step)
{
	const json_t *attempt;
	size_t i;

	json_array_foreach (json_object_get(step, "attempts"), i, attempt)
		if (json_is_string(json_object_get(attempt, "started_at")))
			return true;
	return false;
}

void log_print_unstarted(const struct log *log, const json_t *step)
{
	const char *label = format_text(step, "label"), *state = format_text(step, "state"), *why = format_text(step, "message");
	bool ended = format_state_final(state);

	why = *why ? why : format_text(step, ended ? "cause" : "reason");
	fprintf(stderr, "rota: %s %s started: %s", label, ended ? "never" : "has not", state);
	if (*why && strcmp(why, state))
		fprintf(stderr, " (%s)", why);
	fputc('\n', stderr);
	if (!ended && !log->follow)
		fprintf(stderr, "hint: `rota why %s` tells more, and `rota log -f` waits for it.\n", label);
}

void log_file_explain(const struct log_file *f)
{
	const char *state = format_text(f->step, "state"), *why = format_text(f->step, "message");
	struct stat st;

	if (f->log->attempt || strcmp(f->log->key, "output") || f->fd < 0 || fstat(f->fd, &st) || st.st_size)
		return;
	if (f->ended && *why && strcmp(state, "completed"))
		fprintf(stderr, "rota: %s wrote nothing: %s (%s)\n", format_text(f->step, "label"), state, why);
}

void log_file_print_error(const struct log_file *f, int error)
{
	const char *reason = f->opened && !f->plain ? "it is not a plain file" : strerror(error);

	if ((error == ENOENT || f->ended) && !has_run(f->step)) {
		log_print_unstarted(f->log, f->step);
		return;
	}
	fprintf(stderr, "rota: could not read \"%s\": %s\n", f->path, reason);
}

void log_file_end(struct log_file *f)
{
	f->at = f->fd < 0 ? 0 : lseek(f->fd, 0, SEEK_CUR);
	file_close(f);
	if (f->lines)
		lines_end(f->lines);
	free(f->path);
	f->path = NULL;
	json_decref(f->job);
	f->job = f->step = NULL;
}

void log_rest(int watcher)
{
	struct pollfd p = {watcher, POLLIN, 0};
	char events[4096];

	if (watcher < 0)
		process_rest(LOG_ASK_EVERY / 5);
	else if (poll(&p, 1, LOG_ASK_EVERY) > 0 && read(watcher, events, sizeof(events)) < 0)
		process_rest(LOG_ASK_EVERY / 5);
}
