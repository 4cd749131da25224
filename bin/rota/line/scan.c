/* scan.c - parses a command line by the verb's table of options, with getopt_long().
 *
 * Called by: each verb, until verb_next() returns 0.
 * Invariants:
 * - Options may stand before and after operands.
 * - The first error is printed, with the nearest valid option, and ends the process with EXIT_USAGE. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/nearest.h"

/* Arguments of getopt_long, made from the verb's table and VERB_COMMON. */
struct scan_table {
	struct option *longs;
	char *shorts;
	const char **names; /* long names of options, for suggestions */
};

static int options_count(const struct verb_option *options)
{
	int count = 0;

	while (options && options[count].id)
		count++;
	return count;
}

/* A value "[N]" is optional. */
static int value_kind(const char *value)
{
	return !value ? no_argument : value[0] == '[' ? optional_argument : required_argument;
}

/* Append the options of a table to the lists of `table`. */
static void table_add(struct scan_table *table, int *at, size_t *letters, const struct verb_option *options)
{
	for (; options && options->id; options++) {
		if (options->name) {
			table->longs[*at] = (struct option){options->name, value_kind(options->value), NULL, options->id};
			table->names[(*at)++] = options->name;
		}
		if (options->id < 256) {
			table->shorts[(*letters)++] = (char)options->id;
			if (options->value)
				table->shorts[(*letters)++] = ':';
			if (value_kind(options->value) == optional_argument)
				table->shorts[(*letters)++] = ':';
		}
	}
}

static struct scan_table *table_make(const struct verb_scan *scan)
{
	int count = options_count(scan->verb->options) + options_count(VERB_COMMON), at = 0;
	struct scan_table *table = xcalloc(1, sizeof(*table));
	size_t letters = 0;

	table->longs = xcalloc(count + 1, sizeof(*table->longs));
	table->names = xcalloc(count + 1, sizeof(*table->names));
	table->shorts = xcalloc(3 * count + 3, 1);
	if (scan->stop_at_operand)
		table->shorts[letters++] = '+';
	table->shorts[letters++] = ':';
	table_add(table, &at, &letters, scan->verb->options);
	table_add(table, &at, &letters, VERB_COMMON);
	return table;
}

static void table_drop(struct scan_table *table)
{
	free(table->longs);
	free(table->names);
	free(table->shorts);
	free(table);
}

void verb_misuse(const struct verb *verb, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "rota %s: ", verb->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nhint: `rota %s --help` shows how it is used.\n", verb->name);
	_exit(EXIT_USAGE); /* nothing has begun that atexit() has to undo, and what callers have allocated is no leak */
}

/* Report an option of other systems for the jobs that a verb of Rota takes as its first operands. */
static void job_option_misuse(const struct verb *verb, const char *name)
{
	static const char *const NAMES[] = {"j", "job", "jobs", "jobid", "job-id"};

	if (!strcmp(verb->name, "signal") || (strcmp(verb->completes, "job") && strcmp(verb->completes, "past")))
		return; /* the first operand of rota signal is the signal */
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++)
		if (!strcmp(NAMES[i], name))
			verb_misuse(verb, "there is no option \"-%s%s\"; name jobs without an option: rota %s 812",
				    name[1] ? "-" : "", name, verb->name);
}

/* Report an option that does not exist, is ambiguous, or has a value that it does not take. */
static void option_misuse(const struct verb_scan *scan, const struct scan_table *table)
{
	const char *word = scan->argv[optind - 1];
	char name[128];
	const char *near;

	if (optopt > 0 && optopt < 256 && strncmp(word, "--", 2)) {
		job_option_misuse(scan->verb, (char[]){(char)optopt, '\0'});
		verb_misuse(scan->verb, "there is no option \"-%c\"", optopt);
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (const char **known = table->names; *known; known++)
		if (!strcmp(*known, name))
			verb_misuse(scan->verb, "option \"--%s\" takes no value", name);
	job_option_misuse(scan->verb, name);
	near = nearest_of(name, table->names);
	if (near)
		verb_misuse(scan->verb, "there is no option \"--%s\"; did you mean \"--%s\"?", name, near);
	verb_misuse(scan->verb, "there is no option \"--%s\"", name);
}

/* Report an option without the value that it needs, with the name of that value. */
static void value_misuse(const struct verb_scan *scan)
{
	const char *word = scan->argv[optind - 1], *value = "VALUE";

	for (const struct verb_option *option = scan->verb->options; option && option->id; option++)
		if (option->id == optopt)
			value = option->value;
	for (const struct verb_option *option = VERB_COMMON; option->id; option++)
		if (option->id == optopt)
			value = option->value;
	verb_misuse(scan->verb, "option \"%s\" needs a value: %s%s%s", word, word, strncmp(word, "--", 2) ? " " : "=", value);
}

int verb_next(struct verb_scan *scan)
{
	struct scan_table *table = scan->table;
	int id;

	if (!table) {
		table = scan->table = table_make(scan);
		optind = 0;
		opterr = 0;
	}
	for (;;) {
		id = getopt_long(scan->argc, scan->argv, table->shorts, table->longs, NULL);
		scan->value = optarg;
		switch (id) {
		case -1:
			scan->at = optind;
			scan->operands = scan->argc - optind;
			table_drop(table);
			scan->table = NULL;
			return 0;
		case '?':
			option_misuse(scan, table);
			break;
		case ':':
			value_misuse(scan);
			break;
		case VERB_HELP:
			verb_help_print(scan->verb);
			exit(EXIT_OK);
		case VERB_VERSION:
			printf("rota %s\n", ROTA_VERSION);
			exit(EXIT_OK);
		case VERB_CONFIG:
			call_use_config(optarg);
			break;
		case VERB_JSON:
			call_use_json();
			return id;
		default:
			return id;
		}
	}
}

long verb_number(const struct verb_scan *scan, long lowest, long highest)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(scan->value, &end, 10);
	if (errno || end == scan->value || *end || n < lowest || n > highest)
		verb_misuse(scan->verb, "\"%s\" is not a number from %ld to %ld", scan->value, lowest, highest);
	return n;
}

/* Report missing operands: the words of the usage, as "[OPTION]... SIGNAL JOB[.STEP]...", that are not in brackets. */
static void operands_misuse(const struct verb_scan *scan)
{
	static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-";
	char names[128] = "", usage[128] = "";
	int number = 0;

	for (const char *word = scan->verb->usage; *word; word += strcspn(word, " "), word += strspn(word, " ")) {
		int size = (int)strspn(word, LETTERS);

		if (!size)
			continue;
		if (number++ >= scan->operands)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s %.*s", *names ? " and " : "",
				 strchr("AEIOU", *word) ? "an" : "a", size, word);
		snprintf(usage + strlen(usage), sizeof(usage) - strlen(usage), " %.*s", size, word);
	}
	for (char *c = names; *c; c++)
		*c = (char)tolower(*c);
	verb_misuse(scan->verb, "name %s: rota %s%s", names, scan->verb->name, usage);
}

void verb_operands(const struct verb_scan *scan, int lowest, int highest)
{
	if (scan->operands < lowest)
		operands_misuse(scan);
	if (highest >= 0 && scan->operands > highest)
		verb_misuse(scan->verb, "\"%s\" is one operand too many", scan->argv[scan->at + highest]);
}
