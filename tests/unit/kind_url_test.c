/* kind_url_test.c - token services that are allowed, and URLs that only look like theirs. */
#include "tests/unit/unit.h"

#include <stdbool.h>

#include "credmgr/kind/kind_url.h"

static const char PREFIXES[] = "https://idp.example.org, https://b.example.org/realms/a/,,https://c.example.org:8443";

static bool allowed(const char *url)
{
	struct err e;

	return kind_url_allowed(url, PREFIXES, false, &e);
}

static void test_allowed(void **state)
{
	(void)state;
	assert_true(allowed("https://idp.example.org/token"));
	assert_true(allowed("https://idp.example.org"));
	assert_true(allowed("https://idp.example.org?realm=x"));
	assert_true(allowed("https://idp.example.org/.well-known/token"));
	assert_true(allowed("https://b.example.org/realms/a/token"));
	assert_true(allowed("https://c.example.org:8443/token"));
}

static void test_refused(void **state)
{
	static const char *const urls[] = {"https://idp.example.org.evil.com/token",
					   "https://idp.example.org@evil.com/token",
					   "https://idp.example.org:pw@evil.com/",
					   "https://idp.example.org:8443/token",
					   "https://evil.com/https://idp.example.org/",
					   "https://evil.com/?https://idp.example.org",
					   "https://b.example.org/realms/ab",
					   "https://b.example.org/realms/a/../../admin",
					   "https://b.example.org/realms/a/..",
					   "https://b.example.org/realms/a/..?x",
					   "https://b.example.org/realms/a/./b",
					   "https://b.example.org/realms/a/%2e%2e/b",
					   "https://idp.example.org\\@evil.com/",
					   "https://idp.example.org/#@evil.com",
					   "https://idp.example.org/a b",
					   "https://idp.example.org/a\nurl = https://evil.com",
					   "https://idp.example.org/\xc3\xa4",
					   "HTTPS://idp.example.org/token",
					   "http://idp.example.org/token",
					   "file:///etc/passwd",
					   "https://",
					   "https:///token",
					   ""};

	(void)state;
	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
		if (allowed(urls[i]))
			fail_msg("%s is allowed", urls[i]);
}

static void test_no_list_allows_nothing(void **state)
{
	struct err e;

	(void)state;
	assert_false(kind_url_allowed("https://idp.example.org/token", NULL, false, &e));
	assert_false(kind_url_allowed("https://idp.example.org/token", "", false, &e));
	assert_false(kind_url_allowed("https://idp.example.org/token", ",", false, &e));
	assert_false(kind_url_allowed("https://idp.example.org/token", " , ,", false, &e));
	assert_non_null(strstr(e.message, "credentials.refresh_allowed"));
}

static void test_too_long(void **state)
{
	char url[4000] = "https://idp.example.org/";

	(void)state;
	memset(url + strlen(url), 'a', 3000);
	assert_false(allowed(url));
}

static void test_plain_is_for_this_host_alone(void **state)
{
	struct err e;

	(void)state;
	assert_true(kind_url_allowed("http://localhost:80/t", "http://localhost:80/", true, &e));
	assert_true(kind_url_allowed("http://127.0.0.1/t", "http://", true, &e));
	assert_false(kind_url_allowed("http://localhost:80/t", "http://localhost:80/", false, &e));
	assert_false(kind_url_allowed("http://localhost.evil.com/t", "http://", true, &e));
	assert_false(kind_url_allowed("http://localhost:80@evil.com/t", "http://", true, &e));
	assert_false(kind_url_allowed("http://evil.com/t", "http://", true, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_no_list_allows_nothing),
		cmocka_unit_test(test_plain_is_for_this_host_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
