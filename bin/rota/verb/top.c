/* top.c - `rota top`: present usage of running steps, sorted by used CPUs. On a terminal, the list is updated; else it is
 * printed once. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/keys.h"
#include "bin/rota/instance/process.h"
#include "bin/rota/print/stats.h"
#include "bin/rota/print/table.h"
#include "bin/rota/steps/usage.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "lib/text.h"

enum { TOP_ONCE = 256, TOP_ME, TOP_SUBSTEPS, LACKING_REST = 400, LACKING_MOST = 6 };

const struct verb_option top_options[] = {
	{'n', "node", "LIST", "only steps on these nodes, as in n[1-4,7]"},
	{'u', "user", "LIST", "only steps of these users, separated by commas"},
	{TOP_ME, "me", NULL, "only your own steps"},
	{TOP_SUBSTEPS, "substeps", NULL, "also the running sub-steps of your own jobs; name the jobs"},
	{'d', "delay", "SECONDS", "time between updates on a terminal; default: 2"},
	{TOP_ONCE, "once", NULL, "print once, also on a terminal"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

struct top_line {
	json_t *request;
	int delay;
	bool once, wide, json, substeps;
};

/* Escape sequences that enter and leave the alternate screen of the terminal, so that the old content is restored. */
static const char SCREEN_TAKE[] = "\033[?1049h\033[?25l", SCREEN_GIVE[] = "\033[?25h\033[?1049l";
static volatile sig_atomic_t taken;

static void screen_give(void)
{
	if (taken && write(STDOUT_FILENO, SCREEN_GIVE, sizeof(SCREEN_GIVE) - 1) < 0)
		_exit(1);
	taken = 0;
}

static struct word busy(const json_t *step)
{
	struct word w, used = stats_number(step, "cpus_used", 2);

	snprintf(w.s, sizeof(w.s), "%.30s/%.30s", used.s, format_count(json_object_get(step, "cpus")).s);
	return w;
}

static struct word memory(const json_t *step)
{
	struct word w;

	snprintf(w.s, sizeof(w.s), "%.30s/%.30s", format_size_kb(json_object_get(step, "rss_kb")).s,
		 format_size_mb(json_object_get(step, "mem_mb")).s);
	return w;
}

/* Returns the gauges {"n1": {"gpu0.util": 35, ...}} of a step as "gpu0.util=35 gpu0.mem=2048". */
static char *gauges(const json_t *step)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *node, *name;
	json_t *of, *value;

	if (!out)
		die("out of memory");
	json_object_foreach (json_object_get(step, "gauges"), node, of)
		json_object_foreach (of, name, value)
			fprintf(out, "%s%s=%.10g", ftell(out) ? " " : "", name, json_number_value(value));
	if (fclose(out))
		die("out of memory");
	return text;
}

static void row(struct table *table, const json_t *step)
{
	const json_t *age = json_object_get(step, "age_s");
	char *figures = gauges(step);

	table_cell(table, format_text(step, "label"));
	table_cell(table, format_text(step, "user"));
	table_cell(table, format_text(step, "nodes"));
	table_cell(table, format_ran(step).s);
	table_cell(table, busy(step).s);
	table_cell(table, memory(step).s);
	table_cell(table, format_size_kb(json_object_get(step, "swap_kb")).s);
	table_cell(table, stats_rate(step, "read_rate").s);
	table_cell(table, stats_rate(step, "write_rate").s);
	table_cell(table, format_count(json_object_get(step, "processes")).s);
	table_cell(table, format_count(json_object_get(step, "threads")).s);
	table_cell(table, format_duration(json_is_number(age) ? json_number_value(age) : -1).s);
	table_cell(table, figures);
	free(figures);
}

static void row_substep(struct table *table, const json_t *substep)
{
	char *name = xasprintf("  .%lld %s", (long long)json_integer_value(json_object_get(substep, "substep")),
			       format_text(substep, "name"));

	table_cell(table, name);
	table_cell(table, "");
	table_cell(table, "");
	table_cell(table, format_duration(json_number_value(json_object_get(substep, "elapsed_s"))).s);
	table_cell(table, busy(substep).s);
	table_cell(table, usage_memory(substep).s);
	for (int rest = 0; rest < 7; rest++)
		table_cell(table, "");
	free(name);
}

/* Print a table of at most `room` steps and sub-steps. */
static void top_print(FILE *out, const json_t *answer, size_t room, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"STEP", false, 10}, {"USER", false, 4}, {"NODES", false, 5},	{"TIME", true, 0},    {"CPUS", true, 0},
		{"MEMORY", true, 0}, {"SWAP", true, 4},	 {"READ", true, 6},	{"WRITTEN", true, 6}, {"PROC", true, 4},
		{"THR", true, 3},    {"AGE", true, 4},	 {"FIGURES", false, 8},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *step, *substep;
	size_t i, k, rows = 0;

	json_array_foreach (json_object_get(answer, "steps"), i, step) {
		if (rows++ < room)
			row(table, step);
		json_array_foreach (json_object_get(step, "substeps"), k, substep)
			if (rows++ < room)
				row_substep(table, substep);
	}
	table_print(table, out, wide);
	table_free(table);
}

static size_t screen_lines(void)
{
	struct winsize size;

	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row > 4 ? size.ws_row : 24;
}

/* Draw the title and the steps over the whole screen. The rest of each line is cleared after its text, so nothing flickers. */
static void screen_draw(const json_t *answer, bool wide)
{
	char *text = NULL, *rest, *line;
	size_t size, lines = screen_lines(), drawn = 1;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	top_print(out, answer, lines - 3, wide);
	if (fclose(out))
		die("out of memory");
	if (!taken)
		fputs(SCREEN_TAKE, stdout);
	taken = 1;
	printf("\033[H%s: %lld step%s run%s\033[K\n", format_moment(time(NULL)).s,
	       (long long)json_integer_value(json_object_get(answer, "total")),
	       text_plural(json_integer_value(json_object_get(answer, "total"))),
	       json_integer_value(json_object_get(answer, "total")) == 1 ? "s" : "");
	for (rest = text; (line = strsep(&rest, "\n")) && *line && drawn < lines - 1; drawn++)
		printf("%s\033[K\n", line);
	fputs("\033[J", stdout);
	fflush(stdout);
	free(text);
}

static void line_read(struct verb_scan *scan, struct top_line *line)
{
	for (int id; (id = verb_next(scan));) {
		switch (id) {
		case 'n':
			json_object_set_new(line->request, "nodes", words_hosts(scan));
			break;
		case 'u':
			json_object_set_new(line->request, "user", words_text(scan));
			break;
		case TOP_ME:
			json_object_set_new(line->request, "user", json_string(words_me()));
			break;
		case 'd':
			line->delay = (int)verb_number(scan, 1, 3600);
			break;
		case TOP_ONCE:
			line->once = true;
			break;
		case TOP_SUBSTEPS:
			line->substeps = true;
			break;
		case 'w':
			line->wide = true;
			break;
		default:
			line->json = line->once = true;
		}
	}
	if (scan->operands)
		json_object_set_new(line->request, "jobs", words_operands(scan));
	else if (line->substeps)
		verb_misuse(scan->verb, "name the jobs for --substeps: rota top --substeps JOB");
}

/* Returns true if a sampled step has no figures yet. The request `top` makes its node sample the step (internal.sample_poll); a
 * rate needs two samples. */
static bool is_lacking(const json_t *answer)
{
	const json_t *step;
	size_t i;

	json_array_foreach (json_object_get(answer, "steps"), i, step)
		if (json_is_true(json_object_get(step, "sampled")) && !json_is_number(json_object_get(step, "cpus_used")))
			return true;
	return false;
}

static void top_print_json(const json_t *answer)
{
	char *text = json_dumps(answer, JSON_INDENT(2));

	puts(text ? text : "{}");
	free(text);
}

static int top_once(const struct top_line *line)
{
	json_t *answer = call_gate("top", json_incref(line->request));

	for (int i = 0; answer && is_lacking(answer) && i < LACKING_MOST; i++) {
		json_decref(answer);
		process_rest(LACKING_REST);
		answer = call_gate("top", json_incref(line->request));
	}
	if (!answer)
		return call_status();
	if (line->substeps)
		usage_add_substeps("top", words_me(), answer);
	if (line->json && line->substeps)
		top_print_json(answer);
	else if (line->json)
		call_print_json();
	else
		top_print(stdout, answer, SIZE_MAX, line->wide);
	json_decref(answer);
	return EXIT_OK;
}

static int top_update(const struct top_line *line)
{
	int lacking = 0; /* polls in a row without figures; limits the wait for steps that end soon or cannot be sampled */

	keys_take(screen_give, EXIT_OK); /* a signal is the ordinary end of `rota top`, so the exit status is no failure */
	call_before_failure(screen_give);
	for (;;) {
		json_t *answer = call_gate_patiently("top", json_incref(line->request));

		if (!answer)
			return call_status();
		if (line->substeps)
			usage_add_substeps("top", words_me(), answer);
		screen_draw(answer, line->wide);
		lacking = is_lacking(answer) ? lacking + 1 : 0;
		json_decref(answer);
		if (keys_rest(lacking > 0 && lacking < LACKING_MOST ? LACKING_REST : line->delay * 1000))
			break;
	}
	screen_give();
	return EXIT_OK;
}

int verb_top(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct top_line line = {.request = json_object(), .delay = 2, .once = !isatty(STDOUT_FILENO)};
	int status;

	line_read(&scan, &line);
	status = line.once ? top_once(&line) : top_update(&line);
	json_decref(line.request);
	return status;
}
