/* kind_facts.c - facts of credentials (kind_facts.h).
 *
 * Invariants:
 * - No text in the facts has control characters, and times are within what PostgreSQL and JSON can hold. */
#include "credmgr/kind/kind_facts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/text.h"

void kind_facts_free(struct kind_facts *facts)
{
	free(facts->subject);
	*facts = (struct kind_facts){0};
}

void kind_facts_subject(struct kind_facts *facts, const char *text)
{
	char *subject = xstrdup(text);

	text_clean(subject);
	for (char *c = subject; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	text_cut(subject, KIND_SUBJECT_MOST);
	free(facts->subject);
	facts->subject = subject;
}

void kind_facts_time(int64_t at, char text[KIND_TIME_SIZE])
{
	time_t when = (time_t)at;
	struct tm parts;

	if (!gmtime_r(&when, &parts) || !strftime(text, KIND_TIME_SIZE, "%Y-%m-%d %H:%M:%S UTC", &parts))
		strcpy(text, "an unknown time");
}

bool kind_facts_expire(struct kind_facts *facts, int64_t at, int64_t now, const char *what, struct err *e)
{
	char text[KIND_TIME_SIZE];

	kind_facts_time(at, text);
	if (at <= now)
		return err_set(
			e, "%s expired at %s%s", what, text,
			at > time(NULL)
				? " by the clock of the database, and not by that of the host of rota-credd: set both by NTP"
				: "");
	if (at <= KIND_TIME_MOST && (!facts->expires || at < facts->expires))
		facts->expires = at;
	return true;
}

char *kind_facts_write(const struct kind_facts *facts)
{
	json_t *object = json_pack("{s:s?, s:o, s:b, s:o}", "subject", facts->subject, "expires",
				   facts->expires ? json_integer(facts->expires) : json_null(), "renewable", facts->renewable,
				   "renew_until", facts->renew_until ? json_integer(facts->renew_until) : json_null());
	if (facts->asked)
		json_object_set_new(object, "asked", json_string(facts->asked));
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	if (!text)
		die("facts could not be written");
	json_decref(object);
	return text;
}

/* Read a time in epoch seconds; 0 if the member is absent or null. */
static bool facts_read_time(const json_t *value, int64_t *at)
{
	*at = 0;
	if (!value || json_is_null(value))
		return true;
	*at = json_is_integer(value) ? json_integer_value(value) : 0;
	return *at > 0 && *at <= KIND_TIME_MOST;
}

bool kind_facts_read(const char *text, size_t size, struct kind_facts *facts, struct err *e)
{
	json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	const json_t *subject = json_object_get(object, "subject"), *renewable = json_object_get(object, "renewable");
	struct kind_facts read = {.renewable = json_is_true(renewable)};
	bool good = json_is_object(object) && (!subject || json_is_null(subject) || json_is_string(subject)) &&
		    (!renewable || json_is_boolean(renewable)) &&
		    facts_read_time(json_object_get(object, "expires"), &read.expires) &&
		    facts_read_time(json_object_get(object, "renew_until"), &read.renew_until);

	if (good && json_is_string(subject))
		kind_facts_subject(&read, json_string_value(subject));
	json_decref(object);
	if (good)
		*facts = read;
	return good ||
	       err_set(e, "these are no facts of a credential: {\"subject\": text, \"expires\": epoch seconds, \"renewable\": "
			  "bool, \"renew_until\": epoch seconds}");
}
