/* kind_token.c - reads bearer tokens (kind_token.h).
 *
 * Called by: kind.c, kind_refresh.c.
 * Invariants:
 * - No signature is verified: the server that gets the token verifies it. So facts that are read from a JWT may be wrong, which
 *   affects only its owner's jobs.
 * - A token that is no JWT is valid too; it only has no facts. */
#include "credmgr/kind/kind_token.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "credmgr/kind/kind_url.h"

bool kind_token_valid(const char *token, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (token[i] <= ' ' || token[i] > '~')
			return false;
	return size > 0;
}

static int token_digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decode base64url without padding into malloc'ed bytes. Returns NULL if the text is no base64url. */
static char *token_decode(const char *text, size_t size, size_t *decoded)
{
	char *bytes = xmalloc(size + 1);
	unsigned bits = 0, count = 0;

	*decoded = 0;
	for (size_t i = 0; i < size; i++) {
		int digit = token_digit(text[i]);

		if (digit < 0) {
			free(bytes);
			return NULL;
		}
		bits = bits << 6 | (unsigned)digit;
		count += 6;
		if (count >= 8) {
			count -= 8;
			bytes[(*decoded)++] = (char)(bits >> count);
			bits &= (1U << count) - 1;
		}
	}
	return bytes;
}

/* Returns the JSON object of one part of a JWT, or NULL. */
static json_t *token_part(const char *text, size_t size)
{
	size_t decoded;
	char *bytes = token_decode(text, size, &decoded);
	json_t *part = bytes ? json_loadb(bytes, decoded, JSON_REJECT_DUPLICATES, NULL) : NULL;

	free(bytes);
	if (!json_is_object(part)) {
		json_decref(part);
		return NULL;
	}
	return part;
}

/* Returns the claims of a JWT, or NULL if the token is no JWT. */
static json_t *token_claims(const char *token, size_t size)
{
	const char *first = memchr(token, '.', size);
	const char *second = first ? memchr(first + 1, '.', size - (size_t)(first + 1 - token)) : NULL;
	const char *third = second ? memchr(second + 1, '.', size - (size_t)(second + 1 - token)) : NULL;
	json_t *header, *claims;

	if (!second || third)
		return NULL;
	header = token_part(token, (size_t)(first - token));
	claims = header ? token_part(first + 1, (size_t)(second - first - 1)) : NULL;
	json_decref(header);
	return claims;
}

/* Read subject and expiry from a token, if the token is a JWT that has them. */
static bool token_text_facts(const char *token, size_t size, int64_t now, struct kind_facts *facts, struct err *e)
{
	json_t *claims = token_claims(token, size);
	const json_t *at = json_object_get(claims, "exp"), *subject = json_object_get(claims, "sub");
	double seconds = json_number_value(at);
	bool good = true;

	if (json_is_string(subject))
		kind_facts_subject(facts, json_string_value(subject));
	if (json_is_number(at) && seconds <= (double)KIND_TIME_MOST)
		good = kind_facts_expire(facts, seconds > 0 ? (int64_t)seconds : 0, now, "the token", e);
	json_decref(claims);
	return good;
}

int64_t kind_token_seconds(const json_t *value)
{
	double seconds = json_number_value(value);
	const char *text = json_string_value(value);

	if (text && *text && strlen(text) <= 12 && strspn(text, "0123456789") == strlen(text))
		seconds = (double)strtoll(text, NULL, 10);
	return seconds >= 1 && seconds <= (double)KIND_TIME_MOST ? (int64_t)seconds : 0;
}

bool kind_token_facts(const json_t *object, int64_t now, struct kind_facts *facts, struct err *e)
{
	const char *token = json_string_value(json_object_get(object, "access_token"));
	int64_t at = kind_token_seconds(json_object_get(object, "expires_at"));
	int64_t in = kind_token_seconds(json_object_get(object, "expires_in"));

	facts->renewable = true;
	return token_text_facts(token, strlen(token), now, facts, e) &&
	       (!at || kind_facts_expire(facts, at, now, "the token", e)) &&
	       (!in || kind_facts_expire(facts, now + in, now, "the token", e));
}

/* Returns where the JSON object of a stored, renewable token begins; of any other secret, where the secret begins. */
static const char *token_second_line(const struct kind_secret *secret)
{
	const char *end = memchr(secret->bytes, '\n', secret->size);

	return end && kind_token_valid(secret->bytes, (size_t)(end - secret->bytes)) && *secret->bytes != '{' ? end + 1
													      : secret->bytes;
}

json_t *kind_token_read(const struct kind_secret *secret, struct err *e)
{
	static const char *const texts[] = {"access_token", "refresh_token", "client_id", "client_secret"};
	const char *second = token_second_line(secret);
	size_t size = secret->size - (size_t)(second - secret->bytes);
	json_t *object = json_loadb(second, size, JSON_REJECT_DUPLICATES, NULL);
	bool good = json_is_object(object) ||
		    err_set(e, "with a refresh URL, the secret must be a JSON object with access_token and refresh_token");

	for (size_t i = 0; good && i < sizeof texts / sizeof *texts; i++) {
		const json_t *value = json_object_get(object, texts[i]);
		bool is_needed = i < 2,
		     fits = kind_token_valid(json_string_value(value) ? json_string_value(value) : "", json_string_length(value));

		if (is_needed ? !fits : value && !fits)
			good = err_set(e, "%s is %s", texts[i],
				       value ? "no text of printable characters without space" : "missing");
	}
	if (!good) {
		json_decref(object);
		return NULL;
	}
	return object;
}

struct kind_secret kind_token_store(const json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);
	char *stored = xasprintf("%s\n%s", json_string_value(json_object_get(object, "access_token")), text ? text : "");

	if (!text)
		die("out of memory");
	xfree_wiped(text, strlen(text));
	return (struct kind_secret){stored, strlen(stored)};
}

struct kind_secret kind_token_normal(const struct kind_secret *secret, const struct kind_options *options)
{
	struct err e = {0};
	json_t *object = options->refresh_url ? kind_token_read(secret, &e) : NULL;
	struct kind_secret stored = object ? kind_token_store(object) : (struct kind_secret){0};

	json_decref(object);
	return stored;
}

static bool token_inspect_object(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
				 struct err *e)
{
	json_t *object = kind_token_read(secret, e);
	bool good = object && kind_url_allowed(options->refresh_url, options->refresh_allowed, options->refresh_plain, e) &&
		    kind_token_facts(object, options->now, facts, e);

	json_decref(object);
	return good;
}

bool kind_token_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
			struct err *e)
{
	size_t size = secret->size;

	if (options->refresh_url)
		return token_inspect_object(secret, options, facts, e);
	if (size > 0 && secret->bytes[size - 1] == '\n')
		size--;
	if (*secret->bytes == '{')
		return err_set(e, "the secret is a JSON object; give --refresh-url with it, or add the access token alone");
	if (!kind_token_valid(secret->bytes, size))
		return err_set(e, "a token is one line of printable characters without space");
	return token_text_facts(secret->bytes, size, options->now, facts, e);
}
