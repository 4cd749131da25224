/* format.c - formats JSON values of the HTTP API as short texts. An unknown value is "-", never 0.
 *
 * Called by: every verb that prints. */
#include "bin/rota/print/format.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

/* A state of a job, step, node or partition, its colour, and whether it is final. */
struct state {
	const char *state;
	const char *colour;
	bool final;
};
/* States of jobs and steps. */
static const struct state JOB_STATES[] = {
	{"completed", "32", true},
	{"failed", "31", true},
	{"timeout", "31", true},
	{"cancelled", "33", true},
	{"out_of_memory", "31", true},
	{"node_fail", "31", true},
	{"preempted", "33", true},
	{"deadline", "31", true},
	{"dependency_failed", "31", true},
	{"skipped", "2", true},
	{"running", "36", false},
	{"starting", "36", false},
	{"prolog", "36", false},
	{"ending", "36", false},
	{"suspended", "35", false},
	{"pending", "", false},
	{NULL, "", false},
};
/* States of nodes and partitions. */
static const struct state NODE_STATES[] = {
	{"up", "32", false},	      {"down", "31", false},	{"invalid", "31", false}, {"drain", "33", false},
	{"inactive", "33", false},    {"unknown", "33", false}, {"off", "2", false},	  {"powering_off", "2", false},
	{"powering_on", "36", false}, {NULL, "", false},
};

/* Append a whole number with at least `least` digits. Lists have thousands of rows, and printf() takes ten times as long. */
static char *digits(char *to, long long number, int least)
{
	char reversed[20];
	int count = 0;

	if (number < 0)
		*to++ = '-';
	for (unsigned long long rest = number < 0 ? -(unsigned long long)number : (unsigned long long)number;
	     rest || count < least; rest /= 10)
		reversed[count++] = (char)('0' + rest % 10);
	while (count > 0)
		*to++ = reversed[--count];
	*to = '\0';
	return to;
}

/* Append a character and a number of two digits. */
static char *pair(char *to, char before, int number)
{
	*to = before;
	return digits(to + 1, number, 2);
}

struct word format_duration(double seconds)
{
	struct word w = {"-"};
	long s = (long)floor(seconds);
	char *to = w.s;

	if (seconds < 0 || isnan(seconds))
		return w;
	if (s >= 86400) {
		to = pair(digits(to, s / 86400, 1), '-', s / 3600 % 24);
		to = pair(to, ':', s / 60 % 60);
	} else if (s >= 3600) {
		to = pair(digits(to, s / 3600, 1), ':', s / 60 % 60);
	} else {
		to = digits(to, s / 60, 1);
	}
	pair(to, ':', s % 60);
	return w;
}

double format_ran_seconds(const json_t *object)
{
	const json_t *elapsed = json_object_get(object, "elapsed_s");
	double ran = json_number_value(elapsed) - json_number_value(json_object_get(object, "suspended_s"));

	return !json_is_number(elapsed) ? -1 : ran > 0 ? ran : 0;
}

struct word format_ran(const json_t *object)
{
	return format_duration(format_ran_seconds(object));
}

bool format_time_parse(const char *text, double *seconds)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	double fraction = 0;
	char *end;
	long offset = 0;

	if (!rest)
		rest = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
	if (!rest)
		return false;
	if (*rest == '.') {
		fraction = strtod(rest, &end);
		rest = end;
	}
	if (*rest == '+' || *rest == '-') {
		int hours = 0, minutes = 0;

		if (sscanf(rest + 1, "%2d:%2d", &hours, &minutes) < 1)
			return false;
		offset = (*rest == '-' ? -1 : 1) * (hours * 3600L + minutes * 60L);
	}
	*seconds = (double)(timegm(&tm) - offset) + fraction;
	return true;
}

/* Convert a JSON time, a text or seconds since the epoch, to *at. Returns false for null and for other text. */
static bool time_of(const json_t *time, time_t *at)
{
	double seconds;

	if (json_is_number(time))
		seconds = json_number_value(time);
	else if (!json_is_string(time) || !format_time_parse(json_string_value(time), &seconds))
		return false;
	*at = (time_t)floor(seconds);
	return true;
}

/* Converts as localtime_r() does, but faster: localtime_r() is called once for each quarter of an hour. The rules of a time
 * zone change only at a quarter of an hour. */
static bool local_time(time_t at, struct tm *tm)
{
	static time_t known = -1;
	static struct tm first;
	time_t quarter = at - at % 900;

	if (quarter != known) {
		known = -1;
		if (at < 0 || !localtime_r(&quarter, &first) || first.tm_min % 15 || first.tm_sec)
			return localtime_r(&at, tm);
		known = quarter;
	}
	*tm = first;
	tm->tm_min += (int)(at - quarter) / 60;
	tm->tm_sec = (int)(at - quarter) % 60;
	return true;
}

struct word format_when_at(time_t at)
{
	static time_t now;
	static struct tm today;
	struct word w = {"-"};
	struct tm then;

	if (now != time(NULL)) {
		now = time(NULL);
		localtime_r(&now, &today);
	}
	if (!local_time(at, &then))
		return w;
	if (labs((long)(now - at)) < 43200)
		pair(pair(digits(w.s, then.tm_hour, 2), ':', then.tm_min), ':', then.tm_sec);
	else if (then.tm_year == today.tm_year)
		strftime(w.s, sizeof(w.s), "%b %d %H:%M", &then);
	else
		strftime(w.s, sizeof(w.s), "%Y-%m-%d", &then);
	return w;
}

struct word format_when(const json_t *time_value)
{
	time_t at;

	return time_of(time_value, &at) ? format_when_at(at) : (struct word){"-"};
}

struct word format_moment(time_t at)
{
	struct word w = {"-"};
	struct tm then;

	if (localtime_r(&at, &then))
		strftime(w.s, sizeof(w.s), "%Y-%m-%d %H:%M:%S", &then);
	return w;
}

struct word format_time(const json_t *time_value)
{
	time_t at;

	return time_of(time_value, &at) ? format_moment(at) : (struct word){"-"};
}

/* Format a size in steps of 1024. `first` is the index of the unit of `size` in "BKMGTP". */
static struct word size_word(double size, int first)
{
	static const char UNITS[] = "BKMGTP";
	struct word w;
	int unit = first;
	char *to;

	for (; size >= 1024 && UNITS[unit + 1]; unit++)
		size /= 1024;
	if (size >= 100 || size == floor(size)) {
		to = digits(w.s, llrint(size), 1);
	} else {
		long long tenths = llrint(size * 10);

		to = digits(w.s, tenths / 10, 1);
		*to++ = '.';
		to = digits(to, tenths % 10, 1);
	}
	*to++ = UNITS[unit];
	*to = '\0';
	return w;
}

static struct word size_of(const json_t *number, int first)
{
	return json_is_number(number) ? size_word(json_number_value(number), first) : (struct word){"-"};
}

struct word format_size_mb(const json_t *mb)
{
	return size_of(mb, 2);
}

struct word format_size_kb(const json_t *kb)
{
	return size_of(kb, 1);
}

struct word format_size_bytes(const json_t *bytes)
{
	return size_of(bytes, 0);
}

struct word format_kilobytes(double kb)
{
	return size_word(kb, 1);
}

long format_size_parse(const char *text)
{
	char *end;
	double size = strtod(text, &end);

	if (end == text || !(size >= 0) || size > 1e12)
		return -1;
	switch (*end) {
	case '\0':
		return (long)ceil(size);
	case 'k':
	case 'K':
		size /= 1024;
		break;
	case 'm':
	case 'M':
		break;
	case 'g':
	case 'G':
		size *= 1024;
		break;
	case 't':
	case 'T':
		size *= 1048576;
		break;
	default:
		return -1;
	}
	return end[1] == '\0' || !strcmp(end + 1, "B") || !strcmp(end + 1, "iB") ? (long)ceil(size) : -1;
}

struct word format_count(const json_t *number)
{
	struct word w = {"-"};

	if (json_is_integer(number))
		digits(w.s, json_integer_value(number), 1);
	else if (json_is_real(number))
		snprintf(w.s, sizeof(w.s), "%.1f", json_real_value(number));
	return w;
}

struct word format_signal(int number)
{
	struct word w;

	if (sigabbrev_np(number))
		snprintf(w.s, sizeof(w.s), "SIG%s", sigabbrev_np(number));
	else
		snprintf(w.s, sizeof(w.s), "signal %d", number);
	return w;
}

struct word format_exit(const json_t *exit_code, const json_t *signal)
{
	int number = (int)json_integer_value(signal);

	if (number > 0)
		return format_signal(number);
	return json_is_integer(exit_code) ? format_count(exit_code) : (struct word){""};
}

struct word format_row_exit(const json_t *row)
{
	const json_t *code = json_object_get(row, "exit_code"), *signal = json_object_get(row, "signal");
	bool says_nothing =
		json_integer_value(code) == 0 && json_integer_value(signal) == 0 && !format_state_good(format_text(row, "state"));

	return says_nothing ? (struct word){""} : format_exit(code, signal);
}

/* Returns the row of a state, the last row of the table if the state is unknown. */
static const struct state *state_row(const struct state *row, const char *state)
{
	while (row->state && (row->state[0] != state[0] || strcmp(row->state, state)))
		row++;
	return row;
}

const char *format_state_colour(const char *state)
{
	const struct state *row = state_row(JOB_STATES, state);

	return row->state ? row->colour : state_row(NODE_STATES, state)->colour;
}

bool format_state_final(const char *state)
{
	return state_row(JOB_STATES, state)->final;
}

const char *format_state(size_t at)
{
	return JOB_STATES[at].state;
}

bool format_state_good(const char *state)
{
	return !strcmp(state, "completed") || !strcmp(state, "skipped");
}

const char *format_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool shell_plain(const char *word)
{
	static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	return *word && !word[strspn(word, PLAIN)];
}

char *format_shell(const char *word)
{
	char *text, *end;

	if (shell_plain(word))
		return xstrdup(word);
	text = end = xmalloc(4 * strlen(word) + 3);
	*end++ = '\'';
	for (const char *c = word; *c; c++) {
		if (*c == '\'')
			end = stpcpy(end, "'\\''");
		else
			*end++ = *c;
	}
	stpcpy(end, "'");
	return text;
}

struct word format_substeps(const json_t *totals)
{
	static const char *const names[] = {"ended", "failed", "running", "waiting"};
	struct word w = {""};
	size_t size = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		long long count = json_integer_value(json_object_get(totals, names[i]));

		if (count > 0 && size < sizeof(w.s))
			size += (size_t)snprintf(w.s + size, sizeof(w.s) - size, "%s%lld %s", size ? ", " : "", count, names[i]);
	}
	return w;
}
