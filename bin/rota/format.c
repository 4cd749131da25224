/* format.c - values of the gate's JSON as short texts. Called by every verb that prints. Unknown is "-", never 0. */
#include "bin/rota/format.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* States with their colour; ends are marked. Step and job states first, then nodes' and partitions'. */
static const struct {
	const char *state;
	const char *colour;
	bool final;
} STATES[] = {
	{"completed", "32", true}, {"failed", "31", true},	  {"timeout", "31", true},
	{"cancelled", "33", true}, {"out_of_memory", "31", true}, {"node_fail", "31", true},
	{"preempted", "33", true}, {"deadline", "31", true},	  {"dependency_failed", "31", true},
	{"running", "36", false},  {"starting", "36", false},	  {"prolog", "36", false},
	{"ending", "36", false},   {"suspended", "35", false},	  {"pending", "", false},
	{"up", "32", false},	   {"down", "31", false},	  {"invalid", "31", false},
	{"drain", "33", false},	   {"inactive", "33", false},	  {"unknown", "33", false},
};

struct word format_duration(double seconds)
{
	struct word w = {"-"};
	long s = (long)floor(seconds);

	if (seconds < 0 || isnan(seconds))
		return w;
	if (s >= 86400)
		snprintf(w.s, sizeof(w.s), "%ld-%02ld:%02ld:%02ld", s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
	else if (s >= 3600)
		snprintf(w.s, sizeof(w.s), "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(w.s, sizeof(w.s), "%ld:%02ld", s / 60, s % 60);
	return w;
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

/* A time that is null, a text or seconds since the epoch. */
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

struct word format_when(const json_t *time_value)
{
	struct word w = {"-"};
	time_t at, now = time(NULL);
	struct tm then, today;

	if (!time_of(time_value, &at) || !localtime_r(&at, &then) || !localtime_r(&now, &today))
		return w;
	if (labs((long)(now - at)) < 43200)
		strftime(w.s, sizeof(w.s), "%H:%M:%S", &then);
	else if (then.tm_year == today.tm_year)
		strftime(w.s, sizeof(w.s), "%b %d %H:%M", &then);
	else
		strftime(w.s, sizeof(w.s), "%Y-%m-%d", &then);
	return w;
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

/* A size in steps of 1024, beginning with the unit at `first` in "BKMGTP". */
static struct word size_word(const json_t *number, int first)
{
	static const char UNITS[] = "BKMGTP";
	double size = json_number_value(number);
	struct word w = {"-"};
	int unit = first;

	if (!json_is_number(number))
		return w;
	for (; size >= 1024 && UNITS[unit + 1]; unit++)
		size /= 1024;
	if (size >= 100 || size == floor(size))
		snprintf(w.s, sizeof(w.s), "%.0f%c", size, UNITS[unit]);
	else
		snprintf(w.s, sizeof(w.s), "%.1f%c", size, UNITS[unit]);
	return w;
}

struct word format_size_mb(const json_t *mb)
{
	return size_word(mb, 2);
}

struct word format_size_kb(const json_t *kb)
{
	return size_word(kb, 1);
}

struct word format_size_bytes(const json_t *bytes)
{
	return size_word(bytes, 0);
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
		snprintf(w.s, sizeof(w.s), "%lld", (long long)json_integer_value(number));
	else if (json_is_real(number))
		snprintf(w.s, sizeof(w.s), "%.1f", json_real_value(number));
	return w;
}

struct word format_exit(const json_t *exit_code, const json_t *signal)
{
	struct word w = {""};
	int number = (int)json_integer_value(signal);

	if (number > 0 && sigabbrev_np(number))
		snprintf(w.s, sizeof(w.s), "SIG%s", sigabbrev_np(number));
	else if (number > 0)
		snprintf(w.s, sizeof(w.s), "signal %d", number);
	else if (json_is_integer(exit_code))
		snprintf(w.s, sizeof(w.s), "%d", (int)json_integer_value(exit_code));
	return w;
}

const char *format_state_colour(const char *state)
{
	for (size_t i = 0; i < sizeof(STATES) / sizeof(STATES[0]); i++)
		if (!strcmp(STATES[i].state, state))
			return STATES[i].colour;
	return "";
}

bool format_state_final(const char *state)
{
	for (size_t i = 0; i < sizeof(STATES) / sizeof(STATES[0]); i++)
		if (!strcmp(STATES[i].state, state))
			return STATES[i].final;
	return false;
}

const char *format_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}
