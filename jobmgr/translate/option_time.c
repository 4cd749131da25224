/* option_time.c - parses durations and points in time. Points in time are in the time zone of the translating process.
 *
 * Called by: option_value.c.
 * Invariants:
 * - The result depends on the text, `now` and the time zone only. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/option_value.h"

#define LONGEST (INT64_C(100) * 366 * 86400) /* longest duration, in seconds: a hundred years */

/* Read up to `most` numbers separated by ':'. Returns the number of numbers, or 0 if the text has another form. */
static int time_read_clock(const char *text, int64_t *numbers, int most)
{
	int count = 0;
	while (count < most && option_digits(&text, LONGEST, &numbers[count])) {
		count++;
		if (!*text)
			return count;
		if (*text++ != ':')
			return 0;
	}
	return 0;
}

/* Returns the seconds of a duration d-h, d-h:m, d-h:m:s, m, m:s or h:m:s, or -1 if the text is none. */
static int64_t time_read_duration(const char *text)
{
	static const int64_t after_days[] = {3600, 60, 1}, alone[][3] = {{60}, {60, 1}, {3600, 60, 1}};
	const char *dash = strchr(text, '-');
	int64_t total = 0, numbers[3];
	if (dash) {
		if (!option_digits(&text, LONGEST / 86400, &total) || text != dash)
			return -1;
		total *= 86400;
		text = dash + 1;
	}
	int count = time_read_clock(text, numbers, 3);
	if (count == 0)
		return -1;
	const int64_t *units = dash ? after_days : alone[count - 1];
	for (int i = 0; i < count; i++) {
		if (numbers[i] > LONGEST / units[i])
			return -1;
		total += numbers[i] * units[i];
	}
	return total;
}

json_t *option_duration(const char *text, struct err *e)
{
	if (strcasecmp(text, "unlimited") == 0 || strcasecmp(text, "infinite") == 0)
		return json_integer(0);
	int64_t seconds = time_read_duration(text);
	if (seconds >= 0 && seconds <= LONGEST)
		return json_integer(seconds);
	err_set(e, "\"%s\" is not a duration", OPTION_QUOTE(text));
	err_hint(e, "write minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s; 0 is no limit");
	return NULL;
}

/* Returns the seconds that the text after "now" adds: "", "+N" or "+Nunit". Returns -1 if the text has another form. */
static int64_t time_read_offset(const char *text)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}, {"weeks", 7 * 86400}};
	int64_t number;
	if (!*text)
		return 0;
	if (*text++ != '+' || !option_digits(&text, LONGEST, &number))
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strncasecmp(units[i].name, text, strlen(text)) == 0)
			return number <= LONGEST / units[i].seconds ? number * units[i].seconds : -1;
	return -1;
}

struct moment {
	struct tm tm;
	bool has_date, has_clock, is_pm, is_am;
};

static bool moment_set_clock(struct moment *m, int64_t hour, int64_t minute, int64_t second)
{
	if (m->has_clock || hour > 23 || minute > 59 || second > 59)
		return false;
	m->tm.tm_hour = (int)hour;
	m->tm.tm_min = (int)minute;
	m->tm.tm_sec = (int)second;
	return m->has_clock = true;
}

static bool moment_set_date(struct moment *m, int64_t year, int64_t month, int64_t day)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	if (m->has_date || year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 ||
	    day > days[month - 1] + (leap && month == 2))
		return false;
	m->tm.tm_year = (int)year - 1900;
	m->tm.tm_mon = (int)month - 1;
	m->tm.tm_mday = (int)day;
	return m->has_date = true;
}

/* Read a time of day HH:MM[:SS], also with AM or PM at its end. Returns false if the text has another form. */
static bool moment_read_clock(struct moment *m, const char *word)
{
	char digits[16];
	size_t length = strspn(word, "0123456789:");
	int64_t n[3] = {0};
	if (length >= sizeof digits)
		return false;
	memcpy(digits, word, length);
	digits[length] = '\0';
	if (time_read_clock(digits, n, 3) < 2)
		return false;
	m->is_am = strcasecmp(word + length, "am") == 0;
	m->is_pm = strcasecmp(word + length, "pm") == 0;
	return (!word[length] || m->is_am || m->is_pm) && moment_set_clock(m, n[0], n[1], n[2]);
}

/* Read a date YYYY-MM-DD[THH:MM[:SS]], MM/DD[/YY] or MMDDYY. Returns false if the text has another form. */
static bool moment_read_date(struct moment *m, const char *word)
{
	const char *c = word;
	int64_t n[3] = {0};
	if (!option_digits(&c, 999999, &n[0]))
		return false;
	if (*c == '-') {
		if (c - word != 4 || (c++, !option_digits(&c, 99, &n[1])) || *c++ != '-' || !option_digits(&c, 99, &n[2]))
			return false;
		return moment_set_date(m, n[0], n[1], n[2]) && (!*c || (*c == 'T' && moment_read_clock(m, c + 1)));
	}
	if (*c == '/') {
		c++;
		if (!option_digits(&c, 99, &n[1]))
			return false;
		n[2] = m->tm.tm_year - 100;
		if (*c == '/' && (c++, !option_digits(&c, 99, &n[2])))
			return false;
		return !*c && moment_set_date(m, 2000 + n[2], n[0], n[1]);
	}
	return !*c && c - word == 6 && moment_set_date(m, 2000 + n[0] % 100, n[0] / 10000, n[0] / 100 % 100);
}

static bool moment_read_word(struct moment *m, const char *word)
{
	static const struct {
		const char *name;
		int hour;
	} hours[] = {{"midnight", 0}, {"elevenses", 11}, {"noon", 12}, {"fika", 15}, {"teatime", 16}};
	for (size_t i = 0; i < sizeof hours / sizeof *hours; i++)
		if (strcasecmp(word, hours[i].name) == 0)
			return moment_set_clock(m, hours[i].hour, 0, 0);
	bool tomorrow = strcasecmp(word, "tomorrow") == 0;
	if (tomorrow || strcasecmp(word, "today") == 0) {
		if (m->has_date)
			return false;
		m->tm.tm_mday += tomorrow;
		return m->has_date = true;
	}
	bool am = strcasecmp(word, "am") == 0, pm = strcasecmp(word, "pm") == 0;
	if (am || pm) {
		if (!m->has_clock || m->is_am || m->is_pm)
			return false;
		m->is_am = am;
		m->is_pm = pm;
		return true;
	}
	return moment_read_clock(m, word) || moment_read_date(m, word);
}

static bool moment_resolve(struct moment *m, int64_t now, int64_t *at)
{
	if (m->is_am || m->is_pm) {
		if (m->tm.tm_hour < 1 || m->tm.tm_hour > 12)
			return false;
		m->tm.tm_hour = m->tm.tm_hour % 12 + (m->is_pm ? 12 : 0);
	}
	m->tm.tm_isdst = -1;
	struct tm copy = m->tm;
	*at = mktime(&copy);
	if (!m->has_date && *at < now) { /* a time of day that has passed means tomorrow */
		m->tm.tm_mday++;
		*at = mktime(&m->tm);
	}
	return m->has_date || m->has_clock;
}

static bool time_read_moment(const char *text, int64_t now, int64_t *at)
{
	if (strncasecmp(text, "now", 3) == 0) {
		int64_t seconds = time_read_offset(text + 3);
		*at = now + seconds;
		return seconds >= 0;
	}
	struct moment m = {0};
	time_t t = (time_t)now;
	if (!localtime_r(&t, &m.tm))
		return false;
	m.tm.tm_hour = m.tm.tm_min = m.tm.tm_sec = 0;
	char copy[64], *save = NULL;
	if (strlen(text) >= sizeof copy)
		return false;
	strcpy(copy, text);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!moment_read_word(&m, word))
			return false;
	return moment_resolve(&m, now, at);
}

json_t *option_moment(const char *text, int64_t now, struct err *e)
{
	int64_t at;
	if (strcmp(text, "none") == 0)
		return json_null();
	if (time_read_moment(text, now, &at))
		return json_integer(at);
	err_set(e, "\"%s\" is not a date or time", OPTION_QUOTE(text));
	err_hint(e, "write HH:MM, YYYY-MM-DD, YYYY-MM-DDTHH:MM, MM/DD/YY, today, tomorrow, noon, or now+2hours");
	return NULL;
}
