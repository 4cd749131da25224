/* site_value.c - converts values of options to values of fields of the site's script, and back (site_value.h).
 *
 * Called by: site_desc.c, site_change.c.
 * Invariants:
 * - A text that is written here is the value of one option. It never becomes a part of a script or of a command line. */
#include "jobmgr/site/site_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"

/* Slurm's MAIL_ numbers, and the events of --mail-type. */
static const struct {
	int bit;
	const char *event;
} mails[] = {
	{0x001, "BEGIN"},      {0x002, "END"},		 {0x004, "FAIL"},	    {0x008, "REQUEUE"},
	{0x010, "TIME_LIMIT"}, {0x020, "TIME_LIMIT_90"}, {0x040, "TIME_LIMIT_80"},  {0x080, "TIME_LIMIT_50"},
	{0x100, "STAGE_OUT"},  {0x200, "ARRAY_TASKS"},	 {0x400, "INVALID_DEPEND"},
};
enum { MAIL_ALL = 0x50f /* Slurm's sum for ALL */, MAIL_EVENTS = sizeof mails / sizeof *mails };

/* Append to a malloc'ed text. */
static void value_append(char **text, const char *more)
{
	char *longer = xasprintf("%s%s", *text ? *text : "", more);
	free(*text);
	*text = longer;
}

static json_t *value_take_text(char *text)
{
	json_t *value = text ? json_string(text) : json_null();
	free(text);
	return value ? value : json_null();
}

static json_t *value_join_list(const json_t *list)
{
	char *text = NULL;
	const json_t *name;
	size_t i;
	json_array_foreach (list, i, name) {
		if (i > 0)
			value_append(&text, ",");
		value_append(&text, json_string_value(name));
	}
	return value_take_text(text);
}

static json_t *value_join_amounts(const json_t *amounts, const char *before)
{
	char *text = NULL;
	const char *name;
	json_t *amount;
	json_object_foreach ((json_t *)amounts, name, amount) {
		char *item = xasprintf("%s%s%s:%lld", text ? "," : "", before, name, (long long)json_integer_value(amount));
		value_append(&text, item);
		free(item);
	}
	return value_take_text(text);
}

static json_t *value_join_array(const json_t *array)
{
	char *text = NULL;
	const json_t *run, *limit = json_object_get(array, "limit");
	size_t i;
	json_array_foreach (json_object_get(array, "indices"), i, run) {
		long long low = json_integer_value(json_array_get(run, 0)), high = json_integer_value(json_array_get(run, 1)),
			  step = json_integer_value(json_array_get(run, 2));
		char *item = low == high ? xasprintf("%s%lld", i > 0 ? "," : "", low)
			     : step == 1 ? xasprintf("%s%lld-%lld", i > 0 ? "," : "", low, high)
					 : xasprintf("%s%lld-%lld:%lld", i > 0 ? "," : "", low, high, step);
		value_append(&text, item);
		free(item);
	}
	if (text && json_is_integer(limit)) {
		char *item = xasprintf("%%%lld", (long long)json_integer_value(limit));
		value_append(&text, item);
		free(item);
	}
	return value_take_text(text);
}

static json_t *value_sum_mails(const json_t *value)
{
	const char *list = value ? json_string_value(value) : "";
	json_int_t sum = 0;
	char *item;
	while ((item = option_item(&list, ','))) {
		sum |= strcmp(item, "ALL") == 0 ? MAIL_ALL : 0;
		for (int i = 0; i < MAIL_EVENTS; i++)
			sum |= strcmp(item, mails[i].event) == 0 ? mails[i].bit : 0;
		free(item);
	}
	return json_integer(sum);
}

static json_t *value_minutes(const json_t *value)
{
	json_int_t seconds = json_integer_value(value);
	return json_integer(seconds == 0 ? SITE_INFINITE : (seconds + 59) / 60);
}

json_t *site_value_read(enum site_kind kind, const json_t *value)
{
	if (!value && kind != SITE_MOMENT && kind != SITE_MAIL)
		return json_null();
	switch (kind) {
	case SITE_NUMBER:
	case SITE_SHORT:
	case SITE_MOMENT:
		return json_integer(json_integer_value(value));
	case SITE_NICE:
		return json_integer(json_integer_value(value) + SITE_NICE_OFFSET);
	case SITE_MINUTES:
		return value_minutes(value);
	case SITE_FLAG:
		return json_integer(json_is_true(value));
	case SITE_SHARED:
		return json_is_true(value) ? json_integer(0) : json_null();
	case SITE_LIST:
		return value_join_list(value);
	case SITE_AMOUNTS:
		return value_join_amounts(value, "");
	case SITE_TRES:
		return value_join_amounts(value, "gres:");
	case SITE_ARRAY:
		return value_join_array(value);
	case SITE_MAIL:
		return value_sum_mails(value);
	default: /* SITE_TEXT */
		return json_copy((json_t *)value);
	}
}

bool site_value_number(const json_t *value, int64_t *number)
{
	const char *text = json_string_value(value);
	double real = json_real_value(value);
	char *end = NULL;
	if (json_is_integer(value)) {
		*number = json_integer_value(value);
	} else if (json_is_real(value) && real >= -0x1p63 && real < 0x1p63) {
		*number = (int64_t)real;
	} else if (json_is_real(value) && real >= 0x1p63 && real < 0x1.8p64) { /* a number of 64 bits without sign */
		*number = real >= 0x1p64 ? SITE_NO_VAL64 : (int64_t)(uint64_t)real;
	} else if (text && *text) {
		*number = strtoll(text, &end, 10);
		return !*end;
	} else {
		return false;
	}
	return true;
}

/* Does this value of a field stand for "not given"? */
static bool value_is_unset(enum site_kind kind, int64_t number)
{
	if (kind == SITE_MOMENT || kind == SITE_MAIL)
		return number == 0 || number == SITE_NO_VAL;
	return number == SITE_NO_VAL || number == SITE_NO_VAL64 ||
	       (number == SITE_NO_VAL16 && (kind == SITE_SHORT || kind == SITE_FLAG || kind == SITE_SHARED));
}

static bool value_write_mails(int64_t sum, char **text, struct err *e)
{
	for (int i = 0; i < MAIL_EVENTS; i++) {
		if (!(sum & mails[i].bit))
			continue;
		if (*text)
			value_append(text, ",");
		value_append(text, mails[i].event);
		sum &= ~(int64_t)mails[i].bit;
	}
	return sum == 0 || err_set(e, "%lld is not a sum of MAIL_ numbers", (long long)sum);
}

/* Write the value of a field whose number does not stand for "not given". */
static bool value_write_number(enum site_kind kind, int64_t number, int64_t now, char **text, struct err *e)
{
	if (kind == SITE_NICE && number >= SITE_NICE_OFFSET / 2)
		number -= SITE_NICE_OFFSET;
	if (kind != SITE_NICE && number < 0)
		return err_set(e, "%lld is negative", (long long)number);
	switch (kind) {
	case SITE_MINUTES:
		*text = xasprintf("%lld", number == SITE_INFINITE ? 0LL : (long long)number);
		return true;
	case SITE_MOMENT:
		*text = number <= now ? xstrdup("now") : xasprintf("now+%lldseconds", (long long)(number - now));
		return true;
	case SITE_FLAG:
		*text = number <= 1 ? xstrdup(number == 1 ? "yes" : "no") : NULL;
		return number <= 1 || err_set(e, "%lld is neither 0 nor 1", (long long)number);
	case SITE_SHARED:
		*text = number <= 1 ? xstrdup(number == 0 ? "yes" : "no") : NULL;
		return number <= 1 || err_set(e, "%lld is neither 0 (exclusive) nor 1 (shared)", (long long)number);
	case SITE_MAIL:
		return value_write_mails(number, text, e);
	default:
		*text = xasprintf("%lld", (long long)number);
		return true;
	}
}

/* Returns a copy of a list of amounts, such as "gpu:2", without the "gres:" or "gres/" that may precede the names. */
static char *value_strip_gres(const char *list)
{
	char *text = xstrdup(""), *item;
	while ((item = option_item(&list, ','))) {
		bool has_prefix = strncmp(item, "gres:", 5) == 0 || strncmp(item, "gres/", 5) == 0;
		if (*text)
			value_append(&text, ",");
		value_append(&text, item + (has_prefix ? 5 : 0));
		free(item);
	}
	return text;
}

static bool value_is_text(enum site_kind kind)
{
	return kind == SITE_TEXT || kind == SITE_LIST || kind == SITE_AMOUNTS || kind == SITE_TRES || kind == SITE_ARRAY;
}

bool site_value_write(enum site_kind kind, const json_t *value, int64_t now, char **text, struct err *e)
{
	const char *string = json_string_value(value);
	int64_t number;
	*text = NULL;
	if (json_is_null(value))
		return true;
	if (!value_is_text(kind)) {
		if (json_is_boolean(value) && kind == SITE_FLAG)
			number = json_is_true(value);
		else if (!site_value_number(value, &number))
			return err_set(e, "it must be a number");
		return value_is_unset(kind, number) || value_write_number(kind, number, now, text, e);
	}
	if (json_is_number(value)) {
		*text = site_value_show(value);
		return true;
	}
	if (!string)
		return err_set(e, "it must be a string");
	if (strlen(string) != json_string_length(value))
		return err_set(e, "it has a NUL byte");
	if (!*string)
		return true;
	*text = kind == SITE_AMOUNTS || kind == SITE_TRES ? value_strip_gres(string) : xstrdup(string);
	return true;
}

char *site_value_show(const json_t *value)
{
	char *text;
	if (!value || json_is_null(value))
		return NULL;
	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	if (json_is_real(value) && fabs(json_real_value(value)) < 1e15 && trunc(json_real_value(value)) == json_real_value(value))
		return xasprintf("%.0f", json_real_value(value));
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	return text ? text : xstrdup("?");
}
