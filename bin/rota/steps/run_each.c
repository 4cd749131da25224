/* run_each.c - `rota run --each` (run_each.h).
 *
 * Called by: verb/run.c.
 * Invariants:
 * - Lines are read as sub-steps end, so memory depends on the CPUs of the allocation and not on the number of lines. */
#include "bin/rota/steps/run_each.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/steps/each_line.h"
#include "bin/rota/steps/many.h"

enum { COMMAND_SHOWN = 120 };

/* A line of the file whose sub-step has not ended. */
struct each_line {
	struct many_run run;
	char *text;
};

struct each {
	struct many many;
	char *const *command;
	struct line_reader reader;
};

static struct each *each_of(struct many *m)
{
	return (struct each *)m;
}

/* Returns the command of a line on one line, cut to COMMAND_SHOWN bytes; malloc'ed. */
static char *command_text(const struct each_line *line)
{
	char *const *command = each_of(line->run.many)->command;
	char **words = *command ? each_line_command(command, line->text) : NULL;
	char *text = xstrdup(words ? words[0] : line->text), *longer;

	for (size_t i = 1; words && words[i] && strlen(text) <= COMMAND_SHOWN; i++) {
		longer = xasprintf("%s %s", text, words[i]);
		free(text);
		text = longer;
	}
	free(words);
	longer = xasprintf("%.*s%s", COMMAND_SHOWN, text, strlen(text) > COMMAND_SHOWN ? "..." : "");
	free(text);
	return longer;
}

static char *line_name(const struct many_run *r)
{
	return xasprintf("%ld", r->number);
}

static char *line_failure(const struct many_run *r, const char *words)
{
	char *command = command_text((const struct each_line *)r);
	char *text = xasprintf("line %ld: %s: %s", r->number, words, command);

	free(command);
	return text;
}

static void line_ended(struct many_run *r, bool good)
{
	(void)good;
	free(((struct each_line *)r)->text);
	free(r);
}

static void start_line(struct each *e, const char *text, uint64_t hash)
{
	struct each_line *line = xcalloc(1, sizeof(*line));
	char **words = each_line_command(e->command, text);
	struct rota_run run = e->many.options->run;

	*line = (struct each_line){.run = {.number = e->reader.number, .hash = hash}, .text = xstrdup(text)};
	run.argv = (const char *const *)words;
	run.env = NULL;
	run.cwd = NULL;
	many_start(&e->many, &line->run, &run);
	free(words);
}

/* Start sub-steps for lines until enough sub-steps are under way, or no whole line has been read. */
static bool lines_fill(struct many *m, int *fd)
{
	struct each *e = each_of(m);
	const char *text;

	while (many_has_room(m) && (text = line_reader_next(&e->reader))) {
		uint64_t hash = m->log ? each_line_hash(e->command, e->reader.number, text) : 0;

		if (many_has_completed(m, hash))
			m->progress.earlier++;
		else
			start_line(e, text, hash);
	}
	*fd = many_has_room(m) && !e->reader.ended ? e->reader.fd : -1;
	return !e->reader.ended || e->reader.from < e->reader.to;
}

static void lines_read(struct many *m)
{
	struct each *e = each_of(m);

	line_reader_fill(&e->reader);
	if (e->reader.error)
		many_fail(m, "could not read the lines");
}

static const struct many_kind lines = {"line", lines_fill, lines_read, line_name, line_failure, NULL, line_ended};

/* Returns the number of lines of a regular file that are not blank, 0 if that is not known. */
static long lines_count(const char *path)
{
	struct line_reader reader = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct stat st;
	long count = 0;

	if (reader.fd < 0 || fstat(reader.fd, &st) || !S_ISREG(st.st_mode))
		reader.ended = true;
	while (!reader.ended) {
		line_reader_fill(&reader);
		while (line_reader_next(&reader))
			count++;
	}
	if (reader.fd >= 0)
		close(reader.fd);
	free(reader.bytes);
	return count;
}

/* Open the file of the lines and the log. Returns false with an error. */
static bool each_open(struct each *e, struct err *error)
{
	const struct run_options *o = e->many.options;
	bool from_input = !o->arg_file || !strcmp(o->arg_file, "-");

	e->reader.fd = from_input ? STDIN_FILENO : open(o->arg_file, O_RDONLY | O_CLOEXEC);
	if (e->reader.fd < 0)
		return err_sys(error, "could not read \"%s\"", o->arg_file);
	if (!from_input && isatty(STDERR_FILENO))
		e->many.progress.total = lines_count(o->arg_file);
	return many_open_log(&e->many, error);
}

int run_each(struct rota_steps *steps, const struct run_options *options, char *const *command)
{
	struct each e = {.many = {.steps = steps, .options = options, .kind = &lines}, .command = command};
	struct err error = {0};
	int status;

	if (!each_open(&e, &error)) {
		fprintf(stderr, "rota run: %s\n", error.message);
		return EXIT_REFUSED;
	}
	status = many_run_all(&e.many, options->run.env, options->run.cwd);
	free(e.reader.bytes);
	return status;
}
