/* log_many.c - prints the output of several steps (log_many.h). Without `follow`, it prints step by step. With `follow`, it
 * prints lines as they are written, and adds steps when they start.
 *
 * Invariants:
 * - A file that several steps (or elements) write is read for one step at a time. The next step goes on where the last one
 *   ended.
 * - A request to jobmgrd only asks for changes since the last answer. The more steps a job has, the longer is the pause between
 *   requests. */
#include "bin/rota/output/log_many.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "lib/clock.h"
#include "lib/err.h"

enum { SLOWEST_ASK = 5000 };

/* A step or element that has started. */
struct source {
	struct log_file file;
	struct lines lines;
	char *label, *prefix;
	double ended; /* when the step ended; 0: it has not */
	bool done;
};

struct many {
	const struct log *log;
	/* sources by step number; the source is NULL for an array, and for a step that has not started */
	struct source **sources;
	size_t size, live;
	json_t *readers;   /* path of a file -> number of the step that read the file last */
	json_t *truncated; /* path of a file -> when a step truncated it last */
	json_t *answer, *cursor;
	int64_t asked;
	int watcher, names, status; /* names: width of the longest step name */
	bool ended, failed; /* ended: no step can start any more; failed: a request was refused, or standard output is closed */
};

/* Returns the label of a step without its job. */
static const char *name_of(const json_t *step)
{
	const char *label = format_text(step, "label"), *dot = strchr(label, '.');

	return dot ? dot + 1 : label;
}

/* Returns the width of the longest name that the steps and elements of a job can have. */
static int names_width(const json_t *steps)
{
	const json_t *step, *range;
	size_t i, at;
	int width = 0;

	json_array_foreach (steps, i, step) {
		int room = table_text_width(name_of(step));
		long long last = -1;

		json_array_foreach (json_object_get(json_object_get(step, "array"), "indices"), at, range)
			for (size_t end = 0; end < 2; end++)
				if (json_integer_value(json_array_get(range, end)) > last)
					last = json_integer_value(json_array_get(range, end));
		if (last >= 0)
			room += snprintf(NULL, 0, "[%lld]", last);
		width = room > width ? room : width;
	}
	return width;
}

/* Returns the prefix of a step's lines: the name of the step, coloured on a terminal; malloc'ed. */
static char *prefix_make(const struct many *m, const json_t *step)
{
	static const char *const COLOURS[] = {"36", "33", "32", "35", "34", "96", "93", "92", "95", "94"};
	const char *name = name_of(step), *colour = COLOURS[(size_t)json_integer_value(json_object_get(step, "step_id")) %
							    (sizeof(COLOURS) / sizeof(COLOURS[0]))];
	int pad = m->names - table_text_width(name);

	if (!table_colours())
		return xasprintf("%s%*s | ", name, pad > 0 ? pad : 0, "");
	return xasprintf("\033[%sm%s%*s |\033[0m ", colour, name, pad > 0 ? pad : 0, "");
}

/* Returns the entry of a step number in `sources`. Grows the list if needed. */
static struct source **source_at(struct many *m, size_t number)
{
	if (number >= m->size) {
		size_t size = number < 64 ? 128 : number * 2;

		m->sources = xrealloc(m->sources, size * sizeof(struct source *));
		memset(m->sources + m->size, 0, (size - m->size) * sizeof(struct source *));
		m->size = size;
	}
	return &m->sources[number];
}

/* Make the source of a step. `named` is the step or array whose name is the prefix of the lines. */
static struct source *source_make(struct many *m, const json_t *named)
{
	struct source *s = xrealloc(NULL, sizeof(*s));

	*s = (struct source){.label = xstrdup(format_text(named, "label")), .prefix = prefix_make(m, named)};
	s->lines = (struct lines){.json = m->log->json, .label = s->label, .prefix = s->prefix};
	s->file = (struct log_file){.log = m->log, .lines = &s->lines, .watcher = m->watcher, .fd = -1, .watch = -1};
	m->live++;
	return s;
}

static void source_end(struct many *m, struct source *s)
{
	log_file_end(&s->file);
	s->done = true;
	m->live--;
}

/* Returns true if all elements of the array write one file. The prefix of the lines is then the name of the array. */
static bool is_shared(const struct log *log, const json_t *job, const json_t *array, const json_t *element)
{
	char *whole = array ? log_path(log, job, array, 0) : NULL, *own = whole ? log_path(log, job, element, 0) : NULL;
	bool same = own && !strcmp(whole, own);

	free(whole);
	free(own);
	return same;
}

/* Update the source of a step from an answer of jobmgrd. */
static void source_update(struct many *m, struct source *s, json_t *job, json_t *step)
{
	double at = log_truncated(m->log, step);

	log_file_update(&s->file, job, step);
	s->ended = log_ended(m->log, step);
	if (s->file.path && at > json_real_value(json_object_get(m->truncated, s->file.path)))
		json_object_set_new_nocheck(m->truncated, s->file.path, json_real(at));
}

/* Returns true if a step that started after the end of this source's step overwrote its file `path`. */
static bool source_is_overwritten(const struct many *m, const struct source *s, const char *path)
{
	return s->ended > 0 && json_real_value(json_object_get(m->truncated, path)) >= s->ended;
}

/* Returns true if the requested attempt of a step has started. */
static bool has_started(const struct log *log, const json_t *step)
{
	json_int_t latest = log_attempt_latest(log, step);

	return latest && latest >= log->attempt;
}

/* Update all sources from the last answer of jobmgrd, and add sources for steps that have started. */
static void many_take(struct many *m)
{
	json_t *job = json_array_get(json_object_get(m->answer, "jobs"), 0), *steps = json_object_get(job, "steps"), *step;
	const json_t *array = NULL;
	size_t i;

	m->ended = true;
	if (!m->names)
		m->names = names_width(steps);
	json_array_foreach (steps, i, step) {
		struct source **s = source_at(m, (size_t)json_integer_value(json_object_get(step, "step_id")));

		if (!format_state_final(format_text(step, "state")))
			m->ended = false;
		if (json_is_object(json_object_get(step, "array"))) {
			array = step;
			continue;
		}
		if (!json_is_integer(json_object_get(step, "array_index")))
			array = NULL;
		if (!*s && has_started(m->log, step))
			*s = source_make(m, is_shared(m->log, job, array, step) ? array : step);
		if (*s && !(*s)->done)
			source_update(m, *s, job, step);
	}
}

/* Poll jobmgrd. Returns false if jobmgrd refused the request. */
static bool many_ask(struct many *m)
{
	json_t *request = json_pack("{sO sb}", "jobs", m->log->operands, "elements", 1), *answer;

	if (m->cursor)
		json_object_set(request, "since", m->cursor);
	answer = call_gate_patiently("show", request);
	m->asked = clock_ms();
	if (!answer) {
		m->status = call_status();
		return false;
	}
	json_decref(m->cursor);
	m->cursor = json_incref(json_object_get(answer, "cursor"));
	if (m->answer && !json_array_size(json_object_get(answer, "jobs"))) {
		json_decref(answer);
		return true;
	}
	json_decref(m->answer);
	m->answer = answer;
	many_take(m);
	return true;
}

/* Returns the milliseconds between two polls. */
static int64_t ask_pause(const struct many *m)
{
	size_t steps = json_array_size(json_object_get(json_array_get(json_object_get(m->answer, "jobs"), 0), "steps"));

	return steps < SLOWEST_ASK - LOG_ASK_EVERY ? LOG_ASK_EVERY + (int64_t)steps : SLOWEST_ASK;
}

/* May the source read its file now? Only one source reads a file at a time. The next source starts where the last one ended, or at the
 * beginning if its step overwrote the file. */
static bool may_read(struct many *m, struct source *s, size_t number)
{
	const json_t *reader = json_object_get(m->readers, s->file.path);
	const struct source *before = reader ? m->sources[json_integer_value(reader)] : NULL;

	if (s->file.opened)
		return true;
	if (before && before != s && !before->done)
		return false;
	if (before && before != s && (before->file.renewed || !source_is_overwritten(m, before, s->file.path)))
		s->file.at = before->file.at;
	json_object_set_new_nocheck(m->readers, s->file.path, json_integer((json_int_t)number));
	return true;
}

/* Print new output of one source. */
static void source_read(struct many *m, struct source *s, size_t number)
{
	bool last = s->file.ended || !m->log->follow;

	if (!s->file.path) {
		fprintf(stderr, "rota: the output of %s is private: only its owner may read it\n",
			json_string_value(json_array_get(m->log->operands, 0)));
		m->status = EXIT_REFUSED;
		m->failed = true;
	} else if (m->log->attempt && !s->file.opened && !log_attempt_check(m->log, s->file.job, s->file.step, s->file.path)) {
		m->status = EXIT_REFUSED;
	} else if (source_is_overwritten(m, s, s->file.path)) {
		/* Another source reads the file now, and prints it. */
	} else if (!may_read(m, s, number)) {
		return;
	} else {
		bool ok = log_file_read(&s->file);
		int error = ok ? ENOENT : errno;

		m->failed |= ferror(stdout) != 0;
		if (ok && !last)
			return;
		if (s->file.fd < 0 || !ok) {
			log_file_print_error(&s->file, error);
			m->status = EXIT_REFUSED;
		}
	}
	source_end(m, s);
}

static void sources_read(struct many *m)
{
	for (size_t number = 0; number < m->size && m->live && !m->failed; number++)
		if (m->sources[number] && !m->sources[number]->done)
			source_read(m, m->sources[number], number);
	fflush(stdout);
}

static void many_free(struct many *m)
{
	for (size_t i = 0; i < m->size; i++) {
		struct source *s = m->sources[i];

		if (s && !s->done)
			source_end(m, s);
		if (s) {
			free(s->label);
			free(s->prefix);
		}
		free(s);
	}
	free(m->sources);
	if (m->watcher >= 0)
		close(m->watcher);
	json_decref(m->readers);
	json_decref(m->truncated);
	json_decref(m->answer);
	json_decref(m->cursor);
}

/* Raise the limit of open files, since each running step needs one. */
static void files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Print why there is no output: no step has started. */
static void nothing_say(const struct many *m)
{
	const char *label = json_string_value(json_array_get(m->log->operands, 0));
	const json_t *job = json_array_get(json_object_get(m->answer, "jobs"), 0), *steps = json_object_get(job, "steps");

	if (m->log->attempt)
		fprintf(stderr, "rota: no step of %s has had an attempt %ld\n", label, m->log->attempt);
	else if (json_array_size(steps) == 1)
		log_print_unstarted(m->log, json_array_get(steps, 0));
	else if (m->ended)
		fprintf(stderr, "rota: no step of %s ever started: %s\n", label, format_text(job, "state"));
	else
		fprintf(stderr,
			"rota: no step of %s has started: %s\nhint: `rota why %s` tells more, and `rota log -f` waits for "
			"them.\n",
			label, format_text(job, "state"), label);
}

static bool has_sources(const struct many *m)
{
	for (size_t i = 0; i < m->size; i++)
		if (m->sources[i])
			return true;
	return false;
}

int log_many(const struct log *log)
{
	struct many m = {.log = log,
			 .readers = json_object(),
			 .truncated = json_object(),
			 .watcher = log->follow ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1};
	int status;

	files_allow();
	while (!m.failed) {
		if (!m.answer || (!m.ended && clock_ms() - m.asked >= ask_pause(&m)))
			m.failed = !many_ask(&m);
		sources_read(&m);
		if (m.failed || !log->follow || (m.ended && !m.live))
			break;
		if (!m.ended)
			log_rest(m.watcher);
	}
	if (!m.failed && !has_sources(&m)) {
		nothing_say(&m);
		m.status = EXIT_REFUSED;
	}
	status = m.status ? m.status : m.failed ? EXIT_REFUSED : EXIT_OK;
	many_free(&m);
	return status;
}
