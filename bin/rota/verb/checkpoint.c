/* checkpoint.c - `rota checkpoint` and `rota restart`: has running steps save themselves, lists, verifies and discards checkpoints, and has
 * steps start from one.
 *
 * Called by: main.c and everyday.c, through verbs.def.
 * Invariants:
 * - rota-checkpoint reads, makes and removes the files of checkpoints, here as on nodes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/jobs/change.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/join.h"
#include "bin/rota/print/table.h"

enum { CHECKPOINT_DONE = 256, CHECKPOINT_END, CHECKPOINT_WAIT, CHECKPOINT_REASON, RESTART_TO, POLL_S = 30 };

const struct verb_option checkpoint_options[] = {
	{CHECKPOINT_END, "end", NULL, "end the steps once they are saved"},
	{CHECKPOINT_WAIT, "wait", NULL, "wait until the checkpoints are complete or have failed"},
	{CHECKPOINT_DONE, "done", NULL, "inside a step: its program has saved its state in FILEs, or in $ROTA_CHECKPOINT_DIR"},
	{CHECKPOINT_REASON, "reason", "TEXT", "a reason, which accounting keeps"},
	{'g', "generation", "N", "of show, verify and discard: this checkpoint"},
	{'a', "all", NULL, "of list: also checkpoints that failed or were discarded"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	{'q', "quiet", NULL, "print only errors"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

const struct verb_option restart_options[] = {
	{'g', "generation", "N", "start from this checkpoint (default: the latest); 0 = from the beginning"},
	{RESTART_TO, "to", "LIST", "start only on these nodes, such as n[1-4]"},
	{'q', "quiet", NULL, "print only errors"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

struct checkpoint_line {
	bool end, wait, all, wide, verify, has_generation;
	long generation;
	struct change_line change;
};

/* Returns the path of rota-checkpoint, in the folder of this program (a build tree) or in ../sbin (an installation). */
static char *program_path(void)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	char *path;

	self[length > 0 ? length : 0] = '\0';
	*strrchr(length > 0 ? self : strcpy(self, "/"), '/') = '\0';
	path = xasprintf("%s/rota-checkpoint", self);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return xasprintf("%s/../sbin/rota-checkpoint", self);
}

/* Become rota-checkpoint, which makes a checkpoint of files. Returns only after an error. */
static int checkpoint_done(const struct verb_scan *scan)
{
	char *path = program_path(), **argv = xcalloc((size_t)scan->operands + 3, sizeof *argv);

	argv[0] = path;
	argv[1] = (char *)"done";
	for (int i = 0; i < scan->operands; i++)
		argv[i + 2] = scan->argv[scan->at + i];
	execv(path, argv);
	fprintf(stderr, "rota checkpoint: could not execute \"%s\": %s\n", path, strerror(errno));
	free(argv);
	free(path);
	return EXIT_NO_GATE;
}

/* Run rota-checkpoint with `action` (verify or discard) on the folder of a checkpoint, and write the list of its files to its
 * standard input. `driver`: which took it, for verify; else NULL. Returns its exit code. */
static int program_run(const char *action, const char *folder, const char *driver, const json_t *files)
{
	char *path = program_path(), *text = json_dumps(files, JSON_COMPACT | JSON_ENCODE_ANY);
	int ends[2], status = -1;

	if (pipe(ends) < 0)
		die("could not make a pipe: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[0], 0);
		close(ends[0]);
		close(ends[1]);
		execl(path, path, action, folder, driver, (char *)NULL);
		fprintf(stderr, "rota checkpoint: could not execute \"%s\": %s\n", path, strerror(errno));
		_exit(EXIT_NO_GATE);
	}
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN); /* the program may end before it has read all of its input */
	for (size_t at = 0, size = text ? strlen(text) : 0; pid > 0 && at < size;) {
		ssize_t written = write(ends[1], text + at, size - at);

		if (written < 0)
			break;
		at += (size_t)written;
	}
	close(ends[1]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	free(text);
	free(path);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NO_GATE;
}

static void checkpoints_add_row(struct table *t, const json_t *row)
{
	const char *state = format_text(row, "state"), *message = format_text(row, "message");
	char *generation = xasprintf("%lld", (long long)json_integer_value(json_object_get(row, "generation")));
	const json_t *elapsed = json_object_get(row, "elapsed_s"), *saved = json_object_get(row, "saved_s"),
		     *when = json_object_get(row, "complete_at");

	table_cell(t, format_text(row, "label"));
	table_cell(t, generation);
	table_cell_coloured(t, state, format_state_colour(strcmp(state, "failed") == 0 ? "failed" : "completed"));
	table_cell(t, format_text(row, "reason"));
	table_cell(t, format_when(json_is_string(when) ? when : json_object_get(row, "asked_at")).s);
	table_cell(t, format_size_bytes(json_object_get(row, "bytes")).s);
	table_cell(t, json_is_number(elapsed) ? format_duration(json_number_value(elapsed)).s : "-");
	table_cell(t, json_is_number(saved) ? format_duration(json_number_value(saved)).s : "-");
	table_cell(t, *message ? message : format_text(row, "path"));
	free(generation);
}

static void checkpoints_print(const json_t *rows, bool wide)
{
	static const struct table_column COLUMNS[] = {{"STEP", false, 0},   {"GENERATION", true, 0}, {"STATE", false, 0},
						      {"REASON", false, 0}, {"WHEN", false, 0},	     {"SIZE", true, 0},
						      {"TOOK", true, 0},    {"SAVES", true, 0},	     {"FOLDER", false, 12}};
	struct table *t = table_new(COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		checkpoints_add_row(t, row);
	table_print(t, stdout, wide);
	table_free(t);
}

/* Returns the checkpoints of a step or job, or those of the caller; NULL after an error was printed. */
static json_t *checkpoints_ask(const char *job, const struct checkpoint_line *line)
{
	json_t *request = json_object();

	if (job)
		json_object_set_new(request, "jobs", json_pack("[s]", job));
	if (line->has_generation)
		json_object_set_new(request, "generation", json_integer(line->generation));
	if (line->all)
		json_object_set_new(request, "all", json_true());
	if (line->verify)
		json_object_set_new(request, "verify", json_true());
	return call_gate("checkpoints", request);
}

static int checkpoint_list(const char *job, const struct checkpoint_line *line)
{
	json_t *answer = checkpoints_ask(job, line);

	if (answer && line->change.json)
		call_print_json();
	else if (answer)
		checkpoints_print(json_object_get(answer, "checkpoints"), line->wide);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}

static void row_show(const json_t *row)
{
	const char *key;
	json_t *value;
	const json_t *file;
	size_t i;

	json_object_foreach ((json_t *)row, key, value) {
		char *text = json_is_string(value) ? xstrdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);

		if (!json_is_null(value) && !json_is_array(value))
			printf("%-14s %s\n", key, text);
		free(text);
	}
	json_array_foreach (json_object_get(row, "file_list"), i, file)
		printf("%-14s %s  %s bytes  %s  by %s\n", "file", format_text(file, "name"),
		       format_count(json_object_get(file, "bytes")).s, format_text(file, "sha256"), format_text(row, "node"));
}

static bool row_is_usable(const json_t *row)
{
	const char *state = format_text(row, "state");

	return !strcmp(state, "complete") || !strcmp(state, "restoring") || !strcmp(state, "restored");
}

/* Compare the files of one checkpoint with their digests, and print the outcome. */
static int row_verify(const json_t *row, bool quiet)
{
	int code = program_run("verify", format_text(row, "path"), format_text(row, "driver"), json_object_get(row, "file_list"));

	if (code == 0 && !quiet)
		printf("%s: checkpoint %lld is whole\n", format_text(row, "label"),
		       (long long)json_integer_value(json_object_get(row, "generation")));
	return code;
}

/* Show or verify the checkpoint that the command line names, or else all that can be used. */
static int checkpoint_each(const char *job, const struct checkpoint_line *line)
{
	json_t *listed = checkpoints_ask(job, line), *row;
	int status = listed ? EXIT_OK : call_status(), count = 0;
	size_t i;

	json_array_foreach (json_object_get(listed, "checkpoints"), i, row) {
		if (!line->has_generation && !row_is_usable(row))
			continue;
		struct checkpoint_line one = {.verify = line->verify,
					      .has_generation = true,
					      .generation = json_integer_value(json_object_get(row, "generation"))};
		json_t *answer = checkpoints_ask(format_text(row, "label"), &one);
		const json_t *whole = json_array_get(json_object_get(answer, "checkpoints"), 0);
		int code = answer ? EXIT_OK : call_status();

		if (whole && line->verify)
			code = row_verify(whole, line->change.quiet);
		else if (whole && line->change.json)
			call_print_json();
		else if (whole)
			row_show(whole);
		status = code > status ? code : status;
		count++;
		json_decref(answer);
	}
	if (listed && count == 0) {
		fprintf(stderr, "rota checkpoint: %s has no such checkpoint\n", job);
		status = EXIT_REFUSED;
	}
	json_decref(listed);
	return status;
}

/* Discard checkpoints of a step: record that in the database, and remove their files. */
static int checkpoint_discard(const char *step, const struct checkpoint_line *line)
{
	json_t *listed = checkpoints_ask(step, line), *rows = json_object_get(listed, "checkpoints"), *row, *answer, *number;
	json_t *request = json_pack("{s:[s]}", "jobs", step);
	int status = EXIT_OK;
	size_t i, j;

	if (line->has_generation)
		json_object_set_new(request, "generation", json_integer(line->generation));
	/* Change the row first, so that no attempt starts from files that are being removed. */
	answer = listed ? call_gate("checkpoint_discard", json_incref(request)) : NULL;
	if (!answer)
		status = call_status();
	else if (line->change.json)
		call_print_json();
	json_array_foreach (json_object_get(answer, "discarded"), j, number)
		json_array_foreach (rows, i, row)
			if (json_equal(json_object_get(row, "generation"), number)) {
				int code = program_run("discard", format_text(row, "path"), NULL, NULL);

				status = code > status ? code : status;
				if (code == 0 && !line->change.quiet && !line->change.json)
					printf("%s: checkpoint %lld is discarded\n", step, (long long)json_integer_value(number));
			}
	json_decref(answer);
	json_decref(listed);
	json_decref(request);
	return status;
}

/* Wait until no checkpoint of the jobs is under way. Returns EXIT_REFUSED if the latest one of a step has failed. */
static int checkpoint_wait(const json_t *jobs, bool quiet)
{
	bool done = false;
	int status = EXIT_OK;

	while (!done) {
		json_t *answer = call_gate_patiently("checkpoints",
						     json_pack("{s:O, s:b, s:i}", "jobs", jobs, "wait", 1, "timeout_s", POLL_S));
		const json_t *rows = json_object_get(answer, "checkpoints"), *row;
		size_t i;

		if (!answer)
			return call_status();
		done = json_is_true(json_object_get(answer, "done"));
		json_array_foreach (rows, i, row) {
			const json_t *next = json_array_get(rows, i + 1);
			bool last = !next || strcmp(format_text(next, "label"), format_text(row, "label")) != 0;

			if (!done || !last)
				continue;
			if (!strcmp(format_text(row, "state"), "failed"))
				status = EXIT_REFUSED;
			if (!quiet || !row_is_usable(row))
				printf("%s: checkpoint %lld %s%s%s\n", format_text(row, "label"),
				       (long long)json_integer_value(json_object_get(row, "generation")),
				       format_text(row, "state"), *format_text(row, "message") ? ": " : "",
				       format_text(row, "message"));
		}
		json_decref(answer);
	}
	return status;
}

/* Ask for checkpoints. If some steps cannot be saved, the caller waits for the others all the same. */
static int checkpoint_request(struct verb_scan *scan, const char *reason, struct checkpoint_line *line)
{
	json_t *request = json_object(), *asked = json_array(), *jobs;
	int status;

	change_jobs(scan, request);
	if (line->end)
		json_object_set_new(request, "end", json_true());
	if (reason)
		json_object_set_new(request, "reason", json_string(reason));
	jobs = json_incref(json_object_get(request, "jobs"));
	line->change.changed = asked;
	status = change_send(scan->verb, request, &line->change);
	if (json_array_size(asked) > 0 && line->wait) {
		int waited = checkpoint_wait(status == EXIT_OK && jobs ? jobs : asked, line->change.quiet || line->change.json);

		status = waited != EXIT_OK ? waited : status;
	}
	json_decref(jobs);
	json_decref(asked);
	return status;
}

int verb_checkpoint(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct checkpoint_line line = {0};
	const char *reason = NULL, *word, *job;
	bool done = false;

	for (int id; (id = verb_next(&scan));) {
		done |= id == CHECKPOINT_DONE;
		line.end |= id == CHECKPOINT_END;
		line.wait |= id == CHECKPOINT_WAIT;
		line.all |= id == 'a';
		line.wide |= id == 'w';
		line.change.json |= id == VERB_JSON;
		line.change.quiet |= id == 'q';
		if (id == CHECKPOINT_REASON)
			reason = scan.value;
		if (id == 'g') {
			line.has_generation = true;
			line.generation = verb_number(&scan, 1, 2147483647);
		}
	}
	if (done)
		return checkpoint_done(&scan);
	word = scan.operands ? argv[scan.at] : "list";
	job = scan.operands > 1 ? argv[scan.at + 1] : NULL;
	if (!strcmp(word, "list")) {
		verb_operands(&scan, 0, 2);
		return checkpoint_list(job, &line);
	}
	if (!strcmp(word, "show") || !strcmp(word, "verify")) {
		verb_operands(&scan, 2, 2);
		line.verify = *word == 'v';
		return checkpoint_each(job, &line);
	}
	if (!strcmp(word, "discard")) {
		verb_operands(&scan, 2, 2);
		return checkpoint_discard(job, &line);
	}
	if (!strchr("0123456789", *word))
		verb_misuse(verb, "\"%s\" is neither a job nor list, show, verify or discard", word);
	return checkpoint_request(&scan, reason, &line);
}

/* Print from which checkpoint, and on which nodes, a restarted step starts. */
static void restart_print(const json_t *answer)
{
	long long generation = json_integer_value(json_object_get(answer, "generation"));
	char *nodes = join_text(json_object_get(answer, "to"));

	printf("%s: %s, ", format_text(answer, "label"), format_text(answer, "action"));
	if (generation > 0)
		printf("to go on from checkpoint %lld", generation);
	else
		printf("from the beginning");
	printf("%s%s\n", *nodes ? ", only on " : "", nodes);
	free(nodes);
}

int verb_restart(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	json_t *request = json_object(), *answer;
	bool json = false, quiet = false;

	for (int id; (id = verb_next(&scan));) {
		json |= id == VERB_JSON;
		quiet |= id == 'q';
		if (id == 'g')
			json_object_set_new(request, "generation", json_integer(verb_number(&scan, 0, 2147483647)));
		if (id == RESTART_TO)
			json_object_set_new(request, "to", json_string(scan.value));
	}
	verb_operands(&scan, 1, 1);
	json_object_set_new(request, "jobs", words_operands(&scan));
	answer = call_gate("restart", request);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else if (!quiet)
		restart_print(answer);
	json_decref(answer);
	return EXIT_OK;
}
