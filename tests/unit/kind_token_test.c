/* kind_token_test.c - bearer tokens, JWTs, tokens with a refresh token, and answers of token services: valid, damaged and hostile
 * ones. */
#include "tests/unit/unit.h"

#include <stdbool.h>

#include "credmgr/kind/kind_refresh.h"
#include "credmgr/kind/kind_token.h"

enum { NOW = 1000000 };

static struct kind_facts facts;
static struct err error;

static bool inspect_with(const char *text, size_t size, const char *url)
{
	struct kind_secret secret = kind_secret_of(text, size);
	struct kind_options options = {.now = NOW, .refresh_url = url, .refresh_allowed = "https://idp/"};
	bool good;

	kind_facts_free(&facts);
	error = (struct err){0};
	good = kind_token_inspect(&secret, &options, &facts, &error);
	kind_secret_free(&secret);
	return good;
}

static bool inspect(const char *text)
{
	return inspect_with(text, strlen(text), NULL);
}

static bool inspect_object(const char *text)
{
	return inspect_with(text, strlen(text), "https://idp/token");
}

/* Returns a JWT with these claims, malloc'ed. */
static char *jwt(const char *claims)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t size = strlen(claims), length = 0;
	char *body = calloc(1, 2 * size + 4), *token;

	for (size_t i = 0; i < size * 8; i += 6) {
		unsigned value = 0;

		for (size_t bit = i; bit < i + 6; bit++)
			value = value << 1 | (bit < size * 8 ? (unsigned)(unsigned char)claims[bit / 8] >> (7 - bit % 8) & 1 : 0);
		body[length++] = digits[value];
	}
	token = xasprintf("eyJhbGciOiJub25lIn0.%s.c2ln", body);
	free(body);
	return token;
}

static bool inspect_claims(const char *claims)
{
	char *token = jwt(claims);
	bool good = inspect(token);

	free(token);
	return good;
}

static void test_text(void **state)
{
	(void)state;
	assert_true(inspect("ghp_abcDEF123"));
	assert_int_equal(facts.expires, 0);
	assert_false(facts.renewable);
	assert_true(inspect("with.newline\n"));
	assert_false(inspect(""));
	assert_false(inspect("\n"));
	assert_false(inspect("two words"));
	assert_false(inspect("two\nlines"));
	assert_false(inspect("no\x01text"));
	assert_false(inspect("uml\xc3\xa4ut"));
	assert_false(inspect_with("a\0b", 3, NULL));
	assert_false(inspect("{\"access_token\": \"a\"}"));
	assert_non_null(strstr(error.message, "--refresh-url"));
}

static void test_jwt(void **state)
{
	(void)state;
	assert_true(inspect_claims("{\"sub\": \"alice\", \"exp\": 1000060}"));
	assert_int_equal(facts.expires, NOW + 60);
	assert_string_equal(facts.subject, "alice");
	assert_true(inspect_claims("{\"exp\": 1000060.75}"));
	assert_int_equal(facts.expires, NOW + 60);
	assert_true(inspect_claims("{\"iss\": \"x\"}"));
	assert_int_equal(facts.expires, 0);
	assert_false(inspect_claims("{\"exp\": 1000000}"));
	assert_non_null(strstr(error.message, "the token expired at"));
	assert_false(inspect_claims("{\"exp\": 0}"));
	assert_false(inspect_claims("{\"exp\": -5}"));
}

/* A token that only resembles a JWT has no facts; it may still be a valid token. */
static void test_no_jwt(void **state)
{
	static const char *const claims[] = {"{\"exp\": \"1000060\"}",
					     "{\"exp\": null}",
					     "{\"exp\": 1e300}",
					     "{\"exp\": 1e999}",
					     "[1]",
					     "{\"exp\": 5",
					     "{\"exp\": 5, \"exp\": 6}",
					     "\xff",
					     ""};

	(void)state;
	for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
		assert_true(inspect_claims(claims[i]));
		assert_int_equal(facts.expires, 0);
	}
	assert_true(inspect(".."));
	assert_true(inspect("a.b.c.d"));
	assert_true(inspect("e30.e30=.x"));
	assert_true(inspect("e30.!!!!.x"));
}

static void test_huge(void **state)
{
	char *text = malloc(KIND_MOST + 1);

	(void)state;
	memset(text, 'a', KIND_MOST);
	text[KIND_MOST] = '\0';
	text[10] = text[KIND_MOST - 10] = '.';
	assert_true(inspect(text));
	memset(text, '[', KIND_MOST);
	assert_false(inspect_object(text));
	assert_true(inspect(text));
	free(text);
}

static void test_object(void **state)
{
	char *token = jwt("{\"exp\": 1000500}"), *text;

	(void)state;
	assert_true(inspect_object("{\"access_token\": \"a\", \"refresh_token\": \"b\"}"));
	assert_true(facts.renewable);
	assert_int_equal(facts.expires, 0);
	assert_true(inspect_object("{\"access_token\": \"a\", \"refresh_token\": \"b\", \"expires_in\": 90}"));
	assert_int_equal(facts.expires, NOW + 90);
	assert_true(inspect_object("{\"access_token\": \"a\", \"refresh_token\": \"b\", \"expires_in\": \"90\"}"));
	assert_int_equal(facts.expires, NOW + 90);
	text = xasprintf("{\"access_token\": \"%s\", \"refresh_token\": \"b\", \"expires_at\": 1000700}", token);
	assert_true(inspect_object(text));
	assert_int_equal(facts.expires, NOW + 500);
	free(text);
	free(token);
	assert_false(inspect_object("{\"access_token\": \"a\", \"refresh_token\": \"b\", \"expires_at\": 999999}"));
}

static void test_wrong_object(void **state)
{
	static const char *const texts[] = {"token",
					    "[]",
					    "{}",
					    "{\"access_token\": \"a\"}",
					    "{\"refresh_token\": \"a\"}",
					    "{\"access_token\": \"a\", \"refresh_token\": \"\"}",
					    "{\"access_token\": \"a\", \"refresh_token\": 7}",
					    "{\"access_token\": null, \"refresh_token\": \"b\"}",
					    "{\"access_token\": \"a b\", \"refresh_token\": \"b\"}",
					    "{\"access_token\": \"a\", \"refresh_token\": \"b\\n\"}",
					    "{\"access_token\": \"a\", \"refresh_token\": \"b\\u0000\"}",
					    "{\"access_token\": \"a\", \"refresh_token\": \"b\", \"client_id\": 7}",
					    "{\"access_token\": \"a\", \"refresh_token\": \"b\", \"client_secret\": []}",
					    "{\"access_token\": \"a\", \"access_token\": \"a\", \"refresh_token\": \"b\"}"};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (inspect_object(texts[i]))
			fail_msg("%s is accepted", texts[i]);
	assert_false(inspect_with("{\"access_token\": \"a\", \"refresh_token\": \"b\"}", 43, "https://evil/token"));
}

/* Put an answer into the object {access_token: old-access, refresh_token: old-refresh, client_secret: hidden}. Returns the new
 * object as text, or NULL. */
static char *answered(int status, const char *body)
{
	json_t *object = json_pack("{s:s, s:s, s:s, s:i}", "access_token", "old-access", "refresh_token", "old-refresh",
				   "client_secret", "hidden", "expires_in", 5);
	bool good = kind_refresh_answer(object, status, body, strlen(body), NOW, &error);
	char *text = good ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	return text;
}

static void answered_is(const char *body, const char *expected)
{
	char *text = answered(200, body);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void test_answer(void **state)
{
	(void)state;
	answered_is(
		"{\"access_token\": \"n\", \"token_type\": \"bearer\", \"expires_in\": 60}",
		"{\"access_token\":\"n\",\"refresh_token\":\"old-refresh\",\"client_secret\":\"hidden\",\"expires_at\":1000060}");
	answered_is("{\"access_token\": \"n\", \"refresh_token\": \"r\"}",
		    "{\"access_token\":\"n\",\"refresh_token\":\"r\",\"client_secret\":\"hidden\"}");
	answered_is("{\"access_token\": \"n\", \"client_secret\": \"x\", \"expires_in\": -1}",
		    "{\"access_token\":\"n\",\"refresh_token\":\"old-refresh\",\"client_secret\":\"hidden\"}");
}

static void test_wrong_answer(void **state)
{
	static const char *const bodies[] = {"",
					     "<html>",
					     "[]",
					     "{}",
					     "{\"access_token\": \"a b\"}",
					     "{\"access_token\": 7}",
					     "{\"access_token\": \"n\", \"refresh_token\": \"a\\nb\"}",
					     "{\"access_token\": \"n\", \"refresh_token\": {}}",
					     "{\"access_token\": \"n\", \"token_type\": \"mac\"}"};

	(void)state;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		if (answered(200, bodies[i]))
			fail_msg("%s is accepted", bodies[i]);
	assert_null(answered(302, "{\"access_token\": \"n\"}"));
	assert_null(answered(0, "{\"access_token\": \"n\"}"));
}

static void refused_is(const char *body, const char *expected)
{
	assert_null(answered(400, body));
	assert_string_equal(error.message, expected);
}

/* The error message is shown to people, so it must contain none of the secrets. */
static void test_refusal(void **state)
{
	(void)state;
	refused_is("{\"error\": \"invalid_grant\", \"error_description\": \"gone\"}",
		   "the token service said: invalid_grant (gone)");
	refused_is("{\"error\": \"invalid_grant\"}", "the token service said: invalid_grant");
	refused_is("{\"error\": \"invalid_grant\", \"error_description\": \"old-refresh is gone\"}",
		   "the token service said: invalid_grant");
	refused_is("{\"error\": \"invalid_grant\", \"error_description\": \"not hidden\"}",
		   "the token service said: invalid_grant");
	refused_is("{\"error\": \"hidden\"}", "the token service answered with HTTP status 400");
	refused_is("{\"error\": \"\\u001b[31m\"}", "the token service answered with HTTP status 400");
	refused_is("<html>old-refresh</html>", "the token service answered with HTTP status 400");
	refused_is("{\"error\": 7, \"error_description\": \"x\"}", "the token service answered with HTTP status 400");
}

static int clean(void **state)
{
	(void)state;
	kind_facts_free(&facts);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),   cmocka_unit_test(test_jwt),	    cmocka_unit_test(test_no_jwt),
		cmocka_unit_test(test_huge),   cmocka_unit_test(test_object),	    cmocka_unit_test(test_wrong_object),
		cmocka_unit_test(test_answer), cmocka_unit_test(test_wrong_answer), cmocka_unit_test(test_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, clean);
}
