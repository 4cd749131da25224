/* log.c - `rota log`: what a step wrote, read from its output file as the user; with -f as it is written.
 *
 * The gate tells where the file is and when the step has ended; the file itself is read here, with the caller's own rights. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/attempts.h"
#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/lines.h"
#include "bin/rota/output.h"
#include "bin/rota/process.h"
#include "bin/rota/verb.h"
#include "bin/rota/words.h"
#include "lib/clock.h"

enum { LOG_ASK_EVERY = 500, LOG_ATTEMPT = 256 };

const struct verb_option log_options[] = {
	{'f', "follow", NULL, "print on as the step writes, until it has ended"},
	{'e', "error", NULL, "standard error instead of standard output"},
	{LOG_ATTEMPT, "attempt", "N", "what attempt N of the step wrote; by default the latest that has started"},
	{'n', "lines", "N", "only the last N lines of what is there"},
	{VERB_JSON, "json", NULL, "print each line as a JSON object"},
	{0, NULL, NULL, NULL},
};

struct log {
	json_t *operands; /* one label */
	const char *key;  /* "output" or "error" */
	bool follow;
	long lines, attempt; /* -1: all; 0: the latest */
	struct lines *json;  /* NULL: the bytes as they are */
};

/* A file that is followed, which attempt of the step writes it, and which one is the latest, as far as is known. */
struct followed {
	char *path;
	int fd, watcher;
	json_int_t attempt, latest;
	bool renewed; /* since that attempt began, the file was seen to be written anew */
};

/* The step meant in an answer: of a job with one step, that one. NULL when it is ambiguous. */
static const json_t *step_in(const struct log *log, const json_t *answer)
{
	const char *label = json_string_value(json_array_get(log->operands, 0));
	const json_t *steps = json_object_get(json_array_get(json_object_get(answer, "jobs"), 0), "steps"), *step, *one = NULL;
	size_t i, with_output = 0;

	json_array_foreach (steps, i, step) {
		if (!strcmp(format_text(step, "label"), label))
			return step;
		one = step;
		with_output++;
	}
	if (with_output == 1)
		return one;
	fprintf(stderr, "rota: job %s has %zu steps; name one, for example %s\n", label, with_output, format_text(one, "label"));
	return NULL;
}

/* The same from the gate (the caller frees *answer); NULL also when the gate refused. */
static const json_t *step_find(const struct log *log, json_t **answer, int *status)
{
	const char *label = json_string_value(json_array_get(log->operands, 0));

	*answer = call_gate_patiently("show",
				      json_pack("{sO sb}", "jobs", log->operands, "elements",
						strchr(label, '[') || (strchr(label, '_') && !strchr(label, '.'))),
				      CALL_LONG);
	*status = *answer ? EXIT_REFUSED : call_status();
	return *answer ? step_in(log, *answer) : NULL;
}

/* The file of an attempt (0: before any) of the step; where errors have no file of their own, that of the output. NULL: private. */
static char *path_of(const struct log *log, const json_t *job, const json_t *step, json_int_t attempt)
{
	json_t *row = attempts_row(step, attempt);
	const json_t *source = row ? row : step;
	char *path = output_path(job, source, log->key);

	if (!path && json_is_string(json_object_get(step, "output")))
		path = output_path(job, source, "output");
	json_decref(row);
	return path;
}

/* The latest attempt whose output can be there; 0: none. What an attempt is to run with is opened before it is said to have started. */
static json_int_t attempt_latest(const json_t *step)
{
	const json_t *attempt;
	json_int_t latest = 0;
	size_t i;

	json_array_foreach (json_object_get(step, "attempts"), i, attempt)
		if (json_is_string(json_object_get(attempt, "started_at")) ||
		    json_is_string(json_object_get(attempt, "ended_at")))
			latest = json_integer_value(json_object_get(attempt, "attempt"));
	return latest;
}

/* Whether the file has become shorter than what was read of it: another attempt writes it anew. */
static bool is_cut(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < lseek(fd, 0, SEEK_CUR);
}

/* Write all there is from here to the end of the file. False when standard output is gone or reading failed. */
static bool pour(const struct log *log, int fd)
{
	char block[65536];
	ssize_t got = 0;

	while (!ferror(stdout) && (got = read(fd, block, sizeof(block))) > 0)
		if (log->json)
			lines_print(log->json, block, (size_t)got);
		else
			fwrite(block, 1, (size_t)got, stdout);
	return !ferror(stdout) && got == 0 && !fflush(stdout);
}

/* Move to the beginning of the last `lines` lines; of none, to the end. */
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
			/* the newline at the very end closes a line and does not begin one */
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

/* Wait for news of the file, half a second at the most. */
static void news_wait(int watcher)
{
	struct pollfd p = {watcher, POLLIN, 0};
	char events[4096];

	if (watcher < 0)
		process_rest(LOG_ASK_EVERY / 5);
	else if (poll(&p, 1, LOG_ASK_EVERY) > 0 && read(watcher, events, sizeof(events)) < 0)
		process_rest(LOG_ASK_EVERY / 5);
}

/* Whether the step, or the attempt of it that was asked for, can write no more; refreshed from the gate twice a second at most. */
static bool step_ended(const struct log *log, struct followed *f, json_t **answer, int *status)
{
	static long asked;
	json_t *fresh, *row;
	const json_t *step;
	bool ended;

	if (clock_ms() - asked < LOG_ASK_EVERY)
		return false;
	step = step_find(log, &fresh, status);
	*status = step ? EXIT_OK : *status;
	asked = clock_ms();
	if (!step) {
		json_decref(fresh);
		return true;
	}
	row = attempts_row(step, log->attempt);
	ended = format_state_final(format_text(row ? row : step, "state"));
	f->latest = log->attempt ? log->attempt : attempt_latest(step);
	json_decref(row);
	json_decref(*answer);
	*answer = fresh;
	return ended;
}

/* Print what is new in the file, which may be another attempt's by now. */
static bool followed_pour(const struct log *log, struct followed *f)
{
	if (is_cut(f->fd)) {
		lseek(f->fd, 0, SEEK_SET);
		f->renewed = true;
	}
	return pour(log, f->fd);
}

/* Go on to the next attempt: its file, or the same one from its beginning where nobody saw that it was cut because it has as much in it
 * again already. False when there is none. */
static bool attempt_next(const struct log *log, struct followed *f, const json_t *answer)
{
	const json_t *step;
	char *path;

	if (f->attempt >= f->latest)
		return false;
	step = step_in(log, answer);
	path = step ? path_of(log, json_array_get(json_object_get(answer, "jobs"), 0), step, f->attempt + 1) : NULL;
	if (path && strcmp(path, f->path)) {
		if (f->fd >= 0)
			close(f->fd);
		f->fd = -1;
		free(f->path);
		f->path = path;
		path = NULL;
	} else if (f->fd >= 0 && f->attempt && !f->renewed && step && strcmp(format_text(step, "open_mode"), "append")) {
		lseek(f->fd, 0, SEEK_SET);
	}
	free(path);
	f->attempt++;
	f->renewed = false;
	return true;
}

/* Open the file, as soon as it is there. False where it cannot be read. */
static bool followed_open(const struct log *log, struct followed *f, bool first)
{
	if (f->fd >= 0)
		return true;
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return errno == ENOENT;
	inotify_add_watch(f->watcher, f->path, IN_MODIFY | IN_CLOSE_WRITE);
	/* a file that is waited for is all news */
	if (first && log->lines >= 0)
		tail_seek(f->fd, log->lines);
	return true;
}

/* Print the file until the step has ended and all of it is read. Waits for it to appear; goes on with the files of later attempts. */
static int follow(const struct log *log, const char *path, json_int_t attempt, json_t *answer)
{
	struct followed f = {
		.path = xstrdup(path), .fd = -1, .watcher = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .attempt = attempt};
	int status = EXIT_OK;
	bool ended = false, ok = true, first = true, more = false;

	json_incref(answer);
	for (bool last = false; ok; last = ended) {
		if (!followed_open(log, &f, first))
			break;
		first = false;
		ok = f.fd < 0 || followed_pour(log, &f);
		more = ok && attempt_next(log, &f, answer);
		if (more)
			continue;
		if (last)
			break;
		ended = ended || step_ended(log, &f, &answer, &status);
		if (!ended && f.attempt >= f.latest)
			news_wait(f.fd < 0 ? -1 : f.watcher);
	}
	if (f.fd < 0 && status == EXIT_OK) {
		fprintf(stderr, "rota: could not read \"%s\": %s\n", f.path, strerror(errno));
		status = EXIT_REFUSED;
	}
	if (f.fd >= 0)
		close(f.fd);
	close(f.watcher);
	free(f.path);
	json_decref(answer);
	return ok ? status : EXIT_REFUSED;
}

/* Print what is in the file now. */
static int once(const struct log *log, const char *path, const char *state)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0) {
		fprintf(stderr, "rota: could not read \"%s\": %s\n", path, strerror(errno));
		if (errno == ENOENT && !strcmp(state, "pending"))
			fputs("hint: The step has not started; -f waits for it.\n", stderr);
		return EXIT_REFUSED;
	}
	if (log->lines >= 0)
		tail_seek(fd, log->lines);
	ok = pour(log, fd);
	close(fd);
	return ok ? EXIT_OK : EXIT_REFUSED;
}

/* An array has a file for each element: say which one could be meant. */
static int array_refuse(const json_t *step)
{
	const json_t *array = json_object_get(step, "array");
	const json_t *first = json_array_get(json_array_get(json_object_get(array, "indices"), 0), 0);

	fprintf(stderr, "rota: %s is an array; name an element, for example %s[%lld]\n", format_text(step, "label"),
		format_text(step, "label"), (long long)json_integer_value(first));
	return EXIT_REFUSED;
}

/* The attempt that is read: it has run, and no later one wrote the same file anew. False when this was refused. */
static bool attempt_check(const struct log *log, const json_t *job, const json_t *step, json_int_t attempt, const char *path)
{
	json_int_t latest = attempt_latest(step), count = json_integer_value(json_object_get(step, "attempt"));
	bool same = false;

	if (attempt > count) {
		fprintf(stderr, "rota: %s has no attempt %lld; its latest is %lld\n", format_text(step, "label"),
			(long long)attempt, (long long)count);
		return false;
	}
	for (json_int_t later = attempt + 1; later <= latest && !same; later++) {
		char *other = path_of(log, job, step, later);

		same = other && !strcmp(other, path) && strcmp(format_text(step, "open_mode"), "append");
		free(other);
	}
	if (same)
		fprintf(stderr,
			"rota: what attempt %lld of %s wrote is gone: a later attempt wrote \"%s\" anew\n"
			"hint: With %%R or %%r in --%s each attempt has a file of its own.\n",
			(long long)attempt, format_text(step, "label"), path, log->key);
	return !same;
}

/* The step's file, of the attempt that was asked for. */
static int file_print(const struct log *log, json_t *answer, const json_t *step)
{
	const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0);
	json_int_t attempt = log->attempt ? log->attempt : attempt_latest(step);
	char *path = path_of(log, job, step, attempt);
	int status = EXIT_REFUSED;

	if (path && json_is_object(json_object_get(step, "array")) && access(path, F_OK))
		status = array_refuse(step);
	else if (!path)
		fprintf(stderr, "rota: the output of %s is private\n", format_text(step, "label"));
	else if (!log->attempt || attempt_check(log, job, step, attempt, path))
		status = log->follow ? follow(log, path, attempt, answer) : once(log, path, format_text(step, "state"));
	free(path);
	return status;
}

int verb_log(int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb_find("log"), argc, argv);
	struct log log = {.key = "output", .lines = -1};
	struct lines lines = {0};
	json_t *answer = NULL;
	const json_t *step;
	int status;

	for (int id; (id = verb_next(&scan));) {
		if (id == 'e')
			log.key = "error";
		else if (id == LOG_ATTEMPT)
			log.attempt = verb_number(&scan, 1, 1000000000);
		else if (id == 'n')
			log.lines = verb_number(&scan, 0, 1000000000);
		else if (id == VERB_JSON)
			log.json = &lines;
		else
			log.follow = true;
	}
	verb_operands(&scan, 1, 1);
	log.operands = words_operands(&scan);
	step = step_find(&log, &answer, &status);
	if (step)
		status = file_print(&log, answer, step);
	lines_end(&lines);
	json_decref(answer);
	json_decref(log.operands);
	return status;
}
