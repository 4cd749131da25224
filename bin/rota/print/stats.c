/* stats.c - prints the resource usage of steps for `rota show --stats`. An unknown value is "-". */
#include "bin/rota/print/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "lib/err.h"
#include "lib/text.h"

struct word stats_number(const json_t *object, const char *key, int digits)
{
	const json_t *value = json_object_get(object, key);
	struct word w = {"-"};

	if (json_is_number(value))
		snprintf(w.s, sizeof(w.s), "%.*f", digits, json_number_value(value));
	return w;
}

/* Returns a member of an object as bytes per second. */
struct word stats_rate(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	json_t *whole = json_is_number(value) ? json_integer((json_int_t)json_number_value(value)) : json_null();
	struct word w = format_size_bytes(whole), rate;

	json_decref(whole);
	snprintf(rate.s, sizeof(rate.s), "%.50s%s", w.s, strcmp(w.s, "-") ? "/s" : "");
	return rate;
}

static void counts(struct table *table, const char *what, const json_t *step, const char *of, int digits)
{
	static const char *const kinds[] = {"last", "mean", "max"};

	table_cell(table, what);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s_%s", of, kinds[i]);
		table_cell(table, stats_number(step, key, digits).s);
	}
}

static void sizes(struct table *table, const char *what, const json_t *step, const char *of)
{
	static const char *const kinds[] = {"last", "mean", "max"};

	table_cell(table, what);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s_%s", of, kinds[i]);
		table_cell(table, format_size_kb(json_object_get(step, key)).s);
	}
}

static void rates(struct table *table, const char *what, const json_t *step, const char *of)
{
	char key[64];

	table_cell(table, what);
	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "%s_%s", of, i == 0 ? "last" : i == 1 ? "mean" : "max");
		table_cell(table, stats_rate(step, key).s);
	}
}

static void gauges(struct table *table, const json_t *step)
{
	const char *name;
	json_t *gauge;

	json_object_foreach (json_object_get(step, "gauges"), name, gauge) {
		table_cell(table, name);
		table_cell(table, stats_number(gauge, "last", 1).s);
		table_cell(table, stats_number(gauge, "mean", 1).s);
		table_cell(table, stats_number(gauge, "max", 1).s);
	}
}

static void sampled_print(const json_t *step, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"  SAMPLED", false, 10}, {"LAST", true, 0}, {"MEAN", true, 0}, {"MAX", true, 0}};
	struct table *table = table_new(COLUMNS, 4);

	counts(table, "  CPUs busy", step, "cpus", 2);
	sizes(table, "  memory", step, "rss_kb");
	sizes(table, "  swap", step, "swap_kb");
	rates(table, "  read", step, "read_rate");
	rates(table, "  written", step, "write_rate");
	counts(table, "  processes", step, "processes", 1);
	counts(table, "  threads", step, "threads", 1);
	gauges(table, step);
	table_print(table, stdout, wide);
	table_free(table);
}

static void tasks_print(const json_t *tasks, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"  TASK", true, 0},	{"NODE", false, 0},    {"CPU TIME", true, 0},
		{"CPUS MEAN", true, 0}, {"CPUS MAX", true, 0}, {"MEM LAST", true, 0},
		{"MEM MEAN", true, 0},	{"MEM MAX", true, 0},  {"SAMPLES", true, 0},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *task;
	size_t i;

	json_array_foreach (tasks, i, task) {
		const json_t *cpu = json_object_get(task, "cpu_s");

		table_cell(table, format_count(json_object_get(task, "task")).s);
		table_cell(table, format_text(task, "node"));
		table_cell(table, format_duration(json_is_number(cpu) ? json_number_value(cpu) : -1).s);
		table_cell(table, stats_number(task, "cpus_mean", 2).s);
		table_cell(table, stats_number(task, "cpus_max", 2).s);
		table_cell(table, format_size_kb(json_object_get(task, "rss_kb_last")).s);
		table_cell(table, format_size_kb(json_object_get(task, "rss_kb_mean")).s);
		table_cell(table, format_size_kb(json_object_get(task, "rss_kb_max")).s);
		table_cell(table, format_count(json_object_get(task, "samples")).s);
	}
	table_print(table, stdout, wide);
	table_free(table);
}

static void line(const char *name, const char *value)
{
	printf("  %-15s %s\n", name, value);
}

static void stats_print_step(const json_t *step, bool wide)
{
	const json_t *cpu = json_object_get(step, "cpu_s"), *tasks = json_object_get(step, "tasks");
	long long attempts = json_integer_value(json_object_get(step, "attempts"));
	char text[256];

	printf("step %s: %s\n", format_text(step, "label"), format_text(step, "state"));
	if (attempts > 1) {
		snprintf(text, sizeof(text), "%lld, all together; CPUs, duration, memory limit and samples of the latest",
			 attempts);
		line("Attempts", text);
	}
	if (format_text(step, "message")[0])
		line("Message", format_text(step, "message"));
	snprintf(text, sizeof(text), "%s, of %s CPU%s for %s",
		 format_duration(json_is_number(cpu) ? json_number_value(cpu) : -1).s,
		 format_count(json_object_get(step, "cpus")).s, text_plural(json_integer_value(json_object_get(step, "cpus"))),
		 format_ran(step).s);
	line("CPU time", text);
	snprintf(text, sizeof(text), "%s, of %s; without pages of files", format_size_mb(json_object_get(step, "peak_mb")).s,
		 json_integer_value(json_object_get(step, "mem_mb")) > 0 ? format_size_mb(json_object_get(step, "mem_mb")).s
									 : "all there is");
	line("Memory peak", text);
	snprintf(text, sizeof(text), "%s, with pages of files that it maps",
		 format_size_kb(json_object_get(step, "max_rss_kb")).s);
	line("Largest process", text);
	snprintf(text, sizeof(text), "read %s, written %s", format_size_bytes(json_object_get(step, "read_bytes")).s,
		 format_size_bytes(json_object_get(step, "write_bytes")).s);
	line("Storage", text);
	snprintf(text, sizeof(text), "read %s, written %s", format_size_bytes(json_object_get(step, "rchar")).s,
		 format_size_bytes(json_object_get(step, "wchar")).s);
	line("File calls", text);
	snprintf(text, sizeof(text), "%s, with I/O %s", format_count(json_object_get(step, "minor_faults")).s,
		 format_count(json_object_get(step, "major_faults")).s);
	line("Page faults", text);
	snprintf(text, sizeof(text), "%s, the last at %s", format_count(json_object_get(step, "samples")).s,
		 format_time(json_object_get(step, "last_at")).s);
	line("Samples", json_integer_value(json_object_get(step, "samples")) > 0 ? text : "none");
	if (json_integer_value(json_object_get(step, "samples")) > 0)
		sampled_print(step, wide);
	if (json_array_size(tasks) > 1)
		tasks_print(tasks, wide);
}

int stats_show(const json_t *operands, bool wide, bool json)
{
	json_t *answer = call_gate("stats", json_pack("{sO}", "jobs", operands));
	const json_t *step;
	size_t i;

	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		json_array_foreach (json_object_get(answer, "steps"), i, step) {
			if (i)
				putchar('\n');
			stats_print_step(step, wide);
		}
	json_decref(answer);
	return EXIT_OK;
}
