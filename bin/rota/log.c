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

#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/lines.h"
#include "bin/rota/output.h"
#include "bin/rota/process.h"
#include "bin/rota/verb.h"
#include "bin/rota/words.h"
#include "lib/clock.h"

enum { LOG_ASK_EVERY = 500 };

const struct verb_option log_options[] = {
	{'f', "follow", NULL, "print on as the step writes, until it has ended"},
	{'e', "error", NULL, "standard error instead of standard output"},
	{'n', "lines", "N", "only the last N lines of what is there"},
	{VERB_JSON, "json", NULL, "print each line as a JSON object"},
	{0, NULL, NULL, NULL},
};

struct log {
	json_t *operands; /* one label */
	const char *key;  /* "output" or "error" */
	bool follow;
	long lines;	    /* -1: all */
	struct lines *json; /* NULL: the bytes as they are */
};

/* A file that is followed, and which attempt of the step writes it, as far as is known. */
struct followed {
	int fd, watcher;
	json_int_t attempt;
	bool renewed; /* since that attempt began, the file was seen to be written anew */
};

/* The step meant, from the gate (the caller frees *answer): of a job with one step, that one. NULL when this was refused or is ambiguous. */
static const json_t *step_find(const struct log *log, json_t **answer, int *status)
{
	const char *label = json_string_value(json_array_get(log->operands, 0));
	const json_t *steps, *step, *one = NULL;
	size_t i, with_output = 0;

	*status = EXIT_REFUSED;
	*answer = call_gate_patiently("show",
				      json_pack("{sO sb}", "jobs", log->operands, "elements",
						strchr(label, '[') || (strchr(label, '_') && !strchr(label, '.'))),
				      CALL_LONG);
	if (!*answer) {
		*status = call_status();
		return NULL;
	}
	steps = json_object_get(json_array_get(json_object_get(*answer, "jobs"), 0), "steps");
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

/* Another attempt of which nobody saw the file cut, because it has written as much again already: what it wrote is read from the
 * beginning. What an attempt is to run with is opened before it is said to have started; one that waits again has written all it will. */
static void attempt_note(struct followed *f, const json_t *step)
{
	json_int_t attempt = json_integer_value(json_object_get(step, "attempt"));
	bool begun = json_is_string(json_object_get(step, "started_at")) || !strcmp(format_text(step, "state"), "pending");

	if (attempt <= f->attempt || !begun)
		return;
	if (f->fd >= 0 && f->attempt && !f->renewed && strcmp(format_text(step, "open_mode"), "append"))
		lseek(f->fd, 0, SEEK_SET);
	f->attempt = attempt;
	f->renewed = false;
}

/* Whether the step can write no more; refreshed from the gate twice a second at most. */
static bool step_ended(const struct log *log, struct followed *f, int *status)
{
	static long asked;
	json_t *answer;
	const json_t *step;
	bool ended;

	if (clock_ms() - asked < LOG_ASK_EVERY)
		return false;
	step = step_find(log, &answer, status);
	ended = !step || format_state_final(format_text(step, "state"));
	if (step)
		attempt_note(f, step);
	*status = step ? EXIT_OK : *status;
	json_decref(answer);
	asked = clock_ms();
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

/* Print the file until the step has ended and all of it is read. Waits for it to appear. */
static int follow(const struct log *log, const char *path)
{
	struct followed f = {.fd = -1, .watcher = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
	int status = EXIT_OK;
	bool ended = false, ok = true, past = log->lines >= 0;

	for (bool last = false; ok; last = ended) {
		if (f.fd < 0 && (f.fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
			inotify_add_watch(f.watcher, path, IN_MODIFY | IN_CLOSE_WRITE);
			if (past)
				tail_seek(f.fd, log->lines);
		}
		past = false; /* a file that is waited for is all news */
		if (f.fd < 0 && errno != ENOENT)
			break;
		ok = f.fd < 0 || followed_pour(log, &f);
		if (last)
			break;
		ended = step_ended(log, &f, &status);
		if (!ended)
			news_wait(f.fd < 0 ? -1 : f.watcher);
	}
	if (f.fd < 0 && status == EXIT_OK) {
		fprintf(stderr, "rota: could not read \"%s\": %s\n", path, strerror(errno));
		status = EXIT_REFUSED;
	}
	if (f.fd >= 0)
		close(f.fd);
	close(f.watcher);
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

/* The step's file, whichever way it was asked for. Where errors have no file of their own, they are with the output. */
static int file_print(const struct log *log, const json_t *job, const json_t *step)
{
	char *path = output_path(job, step, log->key);
	int status = EXIT_REFUSED;

	if (!path && json_is_string(json_object_get(step, "output")))
		path = output_path(job, step, "output");
	if (path && json_is_object(json_object_get(step, "array")) && access(path, F_OK))
		status = array_refuse(step);
	else if (!path)
		fprintf(stderr, "rota: the output of %s is private\n", format_text(step, "label"));
	else
		status = log->follow ? follow(log, path) : once(log, path, format_text(step, "state"));
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
		status = file_print(&log, json_array_get(json_object_get(answer, "jobs"), 0), step);
	lines_end(&lines);
	json_decref(answer);
	json_decref(log.operands);
	return status;
}
