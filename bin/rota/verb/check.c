/* check.c - `rota check`: translates a script as jobmgrd would, and prints the plan as tables, JSON or a graph.
 *
 * Invariants:
 * - With an instance, its limits and partitions apply, and jobmgrd submits a valid script on trial: the database checks accounts,
 *   rights, names of nodes and other jobs, and makes no job. Without an instance, the built-in limits apply, and a message says
 *   that.
 * - For a script that would be refused, the exit status is EXIT_REFUSED. Each error is a line on standard error: FILE:LINE:
 *   --option: message. With --json, standard output has the answer of a refused submission. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/cost.h"
#include "bin/rota/print/format.h"
#include "bin/rota/submit/origin.h"
#include "bin/rota/submit/problems.h"
#include "bin/rota/print/peers.h"
#include "bin/rota/submit/submit_options.h"
#include "bin/rota/submit/syntax.h"
#include "bin/rota/print/table.h"
#include "jobmgr/translate/option.h"
#include "jobmgr/translate/translate.h"
#include "lib/err.h"
#include "lib/text.h"

enum { CHECK_BBF = 258 };

const struct verb_option check_options[] = {
	{256, "dot", NULL, "print the graph of steps, for dot of Graphviz"},
	{257, "cost", NULL, "print the highest possible cost of the job: billing units and, where there is a price, money"},
	SUBMIT_OPTIONS_BBF(CHECK_BBF),
	{VERB_JSON, "json", NULL, "print the plan as JSON"},
#define OPTION SUBMIT_OPTIONS_ROW
#include "jobmgr/translate/options.def"
#undef OPTION
	{0, NULL, NULL, NULL},
};

enum { CHECK_STEPS_MOST = 100 }; /* most steps whose syntax is checked */

/* The command line of `rota check`. */
struct check_line {
	const char *script;
	json_t *arguments; /* arguments of the script */
	json_t *options;   /* options of the submission: "--name=value" */
	bool json, dot, cost;
};

/* Take an option of `rota check` alone. Returns the number of arguments that the option consists of, 0 for another option. */
static int own_option(const struct verb *verb, void *arg, int left, char **argv)
{
	struct check_line *line = arg;
	if (strcmp(argv[0], "--dot") == 0)
		return line->dot = true;
	if (strcmp(argv[0], "--cost") == 0)
		return line->cost = true;
	int took = submit_options_bbf(verb, line->options, left, argv);
	return took ? took : submit_options_common(verb, left, argv, &line->json);
}

static const char *script_name(const struct check_line *line)
{
	return strcmp(line->script, "-") == 0 ? "stdin" : line->script;
}

/* Print the problems of a script as JSON, in the form in which jobmgrd refuses a submission. */
static void problems_json_print(const char *file, const struct translate_problems *problems)
{
	struct err e;
	json_t *list = translate_problems_refusal(problems, file, NULL, &e);
	json_t *refusal = json_pack("{s:{s:s, s:s, s:s?, s:o}}", "error", "code", e.code, "message", e.message, "hint",
				    e.hint[0] ? e.hint : NULL, "problems", list);
	json_dumpf(refusal, stdout, JSON_INDENT(2));
	printf("\n");
	json_decref(refusal);
}

static struct word nodes_text(const json_t *step)
{
	const json_t *highest = json_object_get(step, "nodes_max");
	int lowest = (int)json_integer_value(json_object_get(step, "nodes_min"));
	bool one = json_integer_value(json_object_get(step, "ntasks")) == 1;
	struct word w;
	if (json_is_null(highest))
		snprintf(w.s, sizeof w.s, one ? "%d" : "%d+", lowest);
	else if (json_integer_value(highest) == lowest)
		snprintf(w.s, sizeof w.s, "%d", lowest);
	else
		snprintf(w.s, sizeof w.s, "%d-%d", lowest, (int)json_integer_value(highest));
	return w;
}

static struct word memory_text(const json_t *step)
{
	const json_t *cpu = json_object_get(step, "mem_per_cpu_mb");
	const json_t *mem = json_object_get(step, "mem_mb");
	if (json_is_null(cpu) && json_is_integer(mem) && json_integer_value(mem) == 0)
		return (struct word){"all"};
	struct word w = format_size_mb(json_is_null(cpu) ? json_object_get(step, "mem_mb") : cpu);
	if (!json_is_null(cpu))
		strcat(w.s, "/cpu");
	return w;
}

static struct word time_text(const json_t *limit)
{
	if (json_is_null(limit))
		return (struct word){"-"};
	return json_integer_value(limit) == 0 ? (struct word){"none"} : format_duration(json_number_value(limit));
}

/* Returns the indices and the limit of an array as "0-15:4,20%2", shortened if the text is long. */
static struct word array_text(const json_t *array)
{
	struct word w = {"-"};
	const json_t *range, *limit = json_object_get(array, "limit");
	size_t i, used = 0;
	json_array_foreach (json_object_get(array, "indices"), i, range) {
		long long low = json_integer_value(json_array_get(range, 0)), high = json_integer_value(json_array_get(range, 1));
		long long step = json_integer_value(json_array_get(range, 2));
		used += (size_t)snprintf(w.s + used, sizeof w.s - used, i ? ",%lld" : "%lld", low);
		if (high > low)
			used += (size_t)snprintf(w.s + used, sizeof w.s - used, "-%lld", high);
		if (step > 1)
			used += (size_t)snprintf(w.s + used, sizeof w.s - used, ":%lld", step);
		if (used > sizeof w.s / 2) {
			snprintf(w.s + sizeof w.s / 2, sizeof w.s / 2, "...");
			return w;
		}
	}
	if (json_is_integer(limit))
		snprintf(w.s + used, sizeof w.s - used, "%%%lld", (long long)json_integer_value(limit));
	return w;
}

static void steps_print(const json_t *steps)
{
	static const struct table_column columns[] = {{"STEP", false, 8}, {"LINE", true, 0},   {"NODES", true, 0},
						      {"TASKS", true, 0}, {"CPUS", true, 0},   {"MEM", true, 3},
						      {"TIME", true, 3},  {"ARRAY", false, 5}, {"PARTITION", false, 5}};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	const json_t *step;
	size_t i;
	json_array_foreach ((json_t *)steps, i, step) {
		long long tasks = json_integer_value(json_object_get(step, "ntasks"));
		long long cpus = json_integer_value(json_object_get(step, "cpus_per_task")) * tasks;
		table_cell(table, format_text(step, "name"));
		table_cell(table, format_count(json_object_get(step, "line")).s);
		table_cell(table, nodes_text(step).s);
		table_cell(table, format_count(json_object_get(step, "ntasks")).s);
		struct word total;
		snprintf(total.s, sizeof total.s, "%lld", cpus);
		table_cell(table, total.s);
		table_cell(table, memory_text(step).s);
		table_cell(table, time_text(json_object_get(step, "time_limit_s")).s);
		table_cell(table, array_text(json_object_get(step, "array")).s);
		table_cell(table, format_text(step, "partition"));
	}
	table_print(table, stdout, false);
	table_free(table);
}

/* Returns an object that maps step ids to the steps of a plan. */
static json_t *names_of(const json_t *steps)
{
	json_t *names = json_object(), *step;
	size_t i;
	json_array_foreach ((json_t *)steps, i, step)
		json_object_set(names, format_count(json_object_get(step, "step_id")).s, step);
	return names;
}

static const json_t *step_of(const json_t *names, const json_t *id)
{
	return json_object_get(names, format_count(id).s);
}

/* Returns the peer of an edge as text: "solve", "812" or "812.solve"; malloc'ed. */
static char *peer_text(const json_t *names, const json_t *edge)
{
	const json_t *step = json_object_get(edge, "peer_step"), *name = json_object_get(edge, "peer_name");
	if (json_is_integer(step))
		return xstrdup(format_text(step_of(names, step), "name"));
	return xasprintf("%lld%s%s", (long long)json_integer_value(json_object_get(edge, "peer_job")),
			 json_is_null(name) ? "" : ".", format_text(edge, "peer_name"));
}

static bool is_after(const json_t *edge)
{
	return strcmp(format_text(edge, "kind"), "after") == 0;
}

static void edges_print(const json_t *edges, const json_t *names)
{
	static const struct table_column columns[] = {
		{"STEP", false, 8}, {"IS BOUND", false, 0}, {"PEER", false, 8}, {"CONDITION", false, 3}, {"LINE", true, 0}};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	const json_t *edge;
	size_t i;
	json_array_foreach ((json_t *)edges, i, edge) {
		const json_t *step = step_of(names, json_object_get(edge, "step_id"));
		bool any = json_is_true(json_object_get(step, "deps_any"));
		char *peer = peer_text(names, edge),
		     *condition = xasprintf("%s%s", format_text(edge, "condition"), any ? " (any)" : "");
		const json_t *line = json_object_get(edge, "line");
		table_cell(table, format_text(step, "name"));
		table_cell(table, peers_kind(format_text(edge, "kind")));
		table_cell(table, peer);
		table_cell(table, is_after(edge) ? condition : "-");
		table_cell(table, json_integer_value(line) > 0 ? format_count(line).s : "-");
		free(peer);
		free(condition);
	}
	table_print(table, stdout, false);
	table_free(table);
}

static void tables_print(const json_t *plan, const json_t *names)
{
	const json_t *steps = json_object_get(plan, "steps"), *edges = json_object_get(plan, "edges");
	size_t step_count = json_array_size(steps), edge_count = json_array_size(edges);
	printf("job %s: %zu step%s, %zu edge%s%s\n\n", format_text(json_object_get(plan, "job"), "name"), step_count,
	       text_plural((int64_t)step_count), edge_count, text_plural((int64_t)edge_count),
	       json_is_true(json_object_get(json_object_get(plan, "job"), "sequence")) ? ", one after the other" : "");
	steps_print(steps);
	if (edge_count > 0) {
		printf("\n");
		edges_print(edges, names);
	}
}

/* Print a quoted identifier of the dot language. */
static void dot_name(const char *name)
{
	putchar('"');
	for (; *name; name++)
		printf(*name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
	putchar('"');
}

static void dot_edge(const json_t *edge, const json_t *names)
{
	static const struct {
		const char *kind, *looks;
	} kinds[] = {{"with", "dir=none, style=bold, constraint=false, label=\"with\""},
		     {"same_nodes", "style=dashed, constraint=false, label=\"same nodes\""},
		     {"other_nodes", "style=dotted, constraint=false, label=\"other nodes\""}};
	const char *looks = "", *condition = format_text(edge, "condition");
	char *peer = peer_text(names, edge);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].kind, format_text(edge, "kind")) == 0)
			looks = kinds[i].looks;
	printf("\t");
	dot_name(peer);
	printf(" -> ");
	dot_name(format_text(step_of(names, json_object_get(edge, "step_id")), "name"));
	if (is_after(edge) && strcmp(condition, "ok") != 0)
		printf(" [label=\"%s\"]", condition);
	else if (!is_after(edge))
		printf(" [%s]", looks);
	printf(";\n");
	free(peer);
}

static void dot_print(const json_t *plan, const json_t *names)
{
	const json_t *step, *edge;
	size_t i;
	printf("digraph ");
	dot_name(format_text(json_object_get(plan, "job"), "name"));
	printf(" {\n\trankdir=LR;\n\tnode [shape=box];\n");
	json_array_foreach (json_object_get(plan, "steps"), i, step) {
		const json_t *array = json_object_get(step, "array");
		printf("\t");
		dot_name(format_text(step, "name"));
		if (json_is_object(array))
			printf(" [label=\"%s [%s]\", peripheries=2]", format_text(step, "name"), array_text(array).s);
		printf(";\n");
	}
	json_array_foreach (json_object_get(plan, "edges"), i, edge)
		dot_edge(edge, names);
	printf("}\n");
}

static void plan_print(const json_t *plan, const struct check_line *line)
{
	json_t *names = names_of(json_object_get(plan, "steps"));
	if (line->json)
		json_dumpf(plan, stdout, JSON_INDENT(2));
	else if (line->dot)
		dot_print(plan, names);
	else
		tables_print(plan, names);
	if (line->json)
		printf("\n");
	json_decref(names);
}

/* Get limits and partitions of the instance; free them with translate_limits_free(). Returns false, with the built-in limits,
 * if no instance answers. */
static bool limits_here(struct translate_limits *limits)
{
	const struct conf *conf = call_conf_try();
	json_t *answer = NULL;
	struct err e = {0};
	*limits = translate_limits_default;
	bool here = conf && call_try(conf, "limits", NULL, &answer, &e) && translate_limits_read(answer, limits, &e);
	if (!here)
		*limits = translate_limits_default;
	json_decref(answer);
	return here;
}

/* Let jobmgrd submit a valid script on trial, and print the refusal, if any. Returns the exit status, and in *answer the answer,
 * which has the highest possible cost of the job. */
static int submission_try(const struct check_line *line, const char *script, size_t size, json_t **answer)
{
	const char *name = script_name(line);
	struct err e;
	json_t *text = submit_options_script(name, script, size, &e);
	if (!text)
		return call_refuse(&e);
	json_t *request = json_pack("{so ss sO sO}", "script", text, "script_name", name, "options", line->options, "arguments",
				    line->arguments);
	if (!origin_add(request, &e)) {
		json_decref(request);
		return call_refuse(&e);
	}
	*answer = call_gate("check", request);
	return *answer ? EXIT_OK : call_status();
}

/* Returns the strings of a JSON list, NULL-terminated; malloc'ed. */
static const char **texts(const json_t *list)
{
	const char **all = xcalloc(json_array_size(list) + 1, sizeof *all);
	for (size_t i = 0; i < json_array_size(list); i++)
		all[i] = json_string_value(json_array_get(list, i));
	return all;
}

/* Returns the plan of a script. Returns NULL after printing the problems of the script. `staging`: how the instance makes
 * transfers, when a script is translated a second time; NULL: not known yet. */
static json_t *check_translate(const struct check_line *line, const char *script, size_t size,
			       const struct translate_limits *limits, const json_t *staging)
{
	const char **options = texts(line->options), **arguments = texts(line->arguments), *home = getenv("HOME");
	const char *name = script_name(line);
	struct err e = {0};
	json_t *folder = origin_folder(line->options, true, &e);
	mode_t mask = umask(077);
	struct translate_problems problems = {0};
	umask(mask);
	if (!folder) {
		call_refuse(&e);
		free(options);
		free(arguments);
		return NULL;
	}
	struct translate_request request = {.script = script,
					    .size = size,
					    .script_name = name,
					    .options = options,
					    .option_count = (int)json_array_size(line->options),
					    .arguments = arguments,
					    .argument_count = (int)json_array_size(line->arguments),
					    .workdir = json_string_value(folder),
					    .umask = (int)mask & 0777,
					    .home = home && home[0] == '/' ? home : NULL,
					    .now = translate_now(),
					    .scratch = json_string_value(json_object_get(staging, "scratch")),
					    .scratch_is_shared = json_is_true(json_object_get(staging, "shared")),
					    .mover_partition = json_string_value(json_object_get(staging, "partition"))};
	json_t *plan = translate_script(&request, limits, &problems);
	if (!plan && line->json)
		problems_json_print(name, &problems);
	if (!plan)
		problems_print("check", name, &problems);
	translate_problems_free(&problems);
	if (!staging)
		submit_options_warn(json_object_get(plan, "warnings"));
	json_decref(folder);
	free(options);
	free(arguments);
	return plan;
}

int verb_check(const struct verb *verb, int argc, char **argv)
{
	struct check_line line = {0};
	struct err e = {0};
	size_t size;
	line.options = json_array();
	const char **operands = submit_options_operands(verb, line.options, argc, argv, own_option, &line, NULL);
	if (!operands[0])
		verb_misuse(verb, "name a script, or - for standard input");
	line.script = operands[0];
	line.arguments = submit_options_arguments(operands + 1, &e);
	free(operands);
	if (!line.arguments)
		return call_refuse(&e);
	struct translate_limits limits;
	bool here = limits_here(&limits);
	int status = EXIT_REFUSED;
	json_t *answer = NULL;
	if (!here)
		fputs("rota: no instance answers; the built-in limits were checked, and no partitions\n", stderr);
	char *script = submit_options_read(line.script, limits.script_bytes + 1, &size, &e);
	json_t *plan = script ? check_translate(&line, script, size, &limits, NULL) : NULL;
	if (!script)
		call_refuse(&e);
	struct syntax *syntax = plan ? syntax_begin(script_name(&line), script, size, CHECK_STEPS_MOST) : NULL;
	if (plan)
		status = here ? submission_try(&line, script, size, &answer) : EXIT_OK;
	syntax_end(syntax);
	const json_t *staging = json_object_get(answer, "staging");
	if (status == EXIT_OK && staging) { /* only the instance knows which transfers become steps */
		json_decref(plan);
		plan = check_translate(&line, script, size, &limits, staging);
		status = plan ? EXIT_OK : EXIT_REFUSED;
	}
	if (status == EXIT_OK && line.cost && !here) {
		err_set(&e, "the cost is not known, since no instance answers");
		status = call_refuse(&e);
	} else if (status == EXIT_OK && line.cost) {
		cost_print(json_object_get(answer, "cost"), line.json);
	} else if (status == EXIT_OK) {
		translate_plan_whole(plan);
		plan_print(plan, &line);
	}
	json_decref(answer);
	json_decref(plan);
	json_decref(line.options);
	json_decref(line.arguments);
	translate_limits_free(&limits);
	free(script);
	return status;
}
