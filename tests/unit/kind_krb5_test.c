/* kind_krb5_test.c - the facts of ticket caches, and files that are no ticket cache. tests/system/credential_kind.bats tests
 * renewal by a KDC. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <krb5/krb5.h>
#include <stdbool.h>

#include "credmgr/kind/kind_krb5.h"

enum { NOW = 1700000000 };

static struct kind_facts facts;
static struct err error;
static krb5_context context;

static void store(krb5_ccache cache, const char *client, const char *server, int64_t end, int64_t renew, krb5_flags flags)
{
	krb5_creds creds = {.ticket_flags = flags};

	creds.times.endtime = (krb5_timestamp)end;
	creds.times.renew_till = (krb5_timestamp)renew;
	creds.ticket = (krb5_data){.length = 6, .data = "ticket"};
	assert_int_equal(krb5_parse_name(context, client, &creds.client), 0);
	assert_int_equal(krb5_parse_name(context, server, &creds.server), 0);
	assert_int_equal(krb5_cc_store_cred(context, cache, &creds), 0);
	krb5_free_principal(context, creds.client);
	krb5_free_principal(context, creds.server);
}

/* Make an empty ticket cache of this principal. */
static krb5_ccache make(const char *client)
{
	char *name = xasprintf("FILE:%s", unit_path("cache"));
	krb5_ccache cache;
	krb5_principal principal;

	assert_int_equal(krb5_cc_resolve(context, name, &cache), 0);
	assert_int_equal(krb5_parse_name(context, client, &principal), 0);
	assert_int_equal(krb5_cc_initialize(context, cache, principal), 0);
	krb5_free_principal(context, principal);
	free(name);
	return cache;
}

static struct kind_secret read_cache(krb5_ccache cache)
{
	int fd = open(unit_path("cache"), O_RDONLY);
	struct kind_secret secret;

	assert_true(kind_secret_read(fd, &secret, &error));
	close(fd);
	krb5_cc_close(context, cache);
	return secret;
}

static bool inspect_bytes(const struct kind_secret *secret)
{
	struct kind_options options = {.now = NOW};

	kind_facts_free(&facts);
	return kind_krb5_inspect(secret, &options, &facts, &error);
}

static bool inspect(krb5_ccache cache)
{
	struct kind_secret secret = read_cache(cache);
	bool good = inspect_bytes(&secret);

	kind_secret_free(&secret);
	return good;
}

static void test_ticket(void **state)
{
	krb5_ccache cache = make("alice@OWN.TEST");

	(void)state;
	store(cache, "alice@OWN.TEST", "krbtgt/OWN.TEST@OWN.TEST", NOW + 50, NOW + 500, TKT_FLG_RENEWABLE);
	store(cache, "alice@OWN.TEST", "host/a@OWN.TEST", NOW + 40, 0, 0);
	store(cache, "alice@OWN.TEST", "krbtgt/OTHER.TEST@OWN.TEST", NOW + 90, NOW + 900, TKT_FLG_RENEWABLE);
	store(cache, "bob@OWN.TEST", "krbtgt/OWN.TEST@OWN.TEST", NOW + 95, NOW + 950, TKT_FLG_RENEWABLE);
	assert_true(inspect(cache));
	assert_string_equal(facts.subject, "alice@OWN.TEST");
	assert_int_equal(facts.expires, NOW + 50);
	assert_int_equal(facts.renew_until, NOW + 500);
	assert_true(facts.renewable);
}

static void test_not_renewable(void **state)
{
	krb5_ccache cache = make("alice@OWN.TEST");

	(void)state;
	store(cache, "alice@OWN.TEST", "krbtgt/OWN.TEST@OWN.TEST", NOW + 50, NOW + 500, 0);
	assert_true(inspect(cache));
	assert_false(facts.renewable);
	assert_int_equal(facts.renew_until, 0);

	/* a realm that krb5.conf does not name: its KDC would be any host that DNS names */
	cache = make("alice@EVIL.TEST");
	store(cache, "alice@EVIL.TEST", "krbtgt/EVIL.TEST@EVIL.TEST", NOW + 50, NOW + 500, TKT_FLG_RENEWABLE);
	assert_true(inspect(cache));
	assert_false(facts.renewable);

	/* a realm that krb5.conf names, and that is not the host's */
	cache = make("alice@NAMED.TEST");
	store(cache, "alice@NAMED.TEST", "krbtgt/NAMED.TEST@NAMED.TEST", NOW + 50, NOW + 500, TKT_FLG_RENEWABLE);
	assert_true(inspect(cache));
	assert_true(facts.renewable);
}

static void test_foreign_realm_is_not_asked(void **state)
{
	krb5_ccache cache = make("alice@EVIL.TEST");
	struct kind_options options = {.now = NOW};
	struct kind_secret secret, renewed;

	(void)state;
	store(cache, "alice@EVIL.TEST", "krbtgt/EVIL.TEST@EVIL.TEST", NOW + 50, NOW + 500, TKT_FLG_RENEWABLE);
	secret = read_cache(cache);
	kind_facts_free(&facts);
	assert_false(kind_krb5_renew(&secret, &options, &renewed, &facts, &error));
	assert_non_null(strstr(error.message, "krb5.conf"));
	kind_facts_free(&facts);
	error = (struct err){0};
	assert_false(kind_krb5_test(&secret, &options, &facts, &error));
	assert_non_null(strstr(error.message, "krb5.conf"));
	kind_secret_free(&secret);
}

static void test_no_ticket(void **state)
{
	krb5_ccache cache = make("alice@OWN.TEST");

	(void)state;
	store(cache, "alice@OWN.TEST", "host/a@OWN.TEST", NOW + 50, 0, 0);
	assert_false(inspect(cache));
	assert_non_null(strstr(error.message, "no ticket-granting ticket of alice@OWN.TEST"));

	cache = make("alice@OWN.TEST");
	store(cache, "alice@OWN.TEST", "krbtgt/OWN.TEST@OWN.TEST", NOW, NOW + 500, TKT_FLG_RENEWABLE);
	assert_false(inspect(cache));
	assert_string_equal(error.message, "the ticket of alice@OWN.TEST expired at 2023-11-14 22:13:20 UTC");
}

/* Times after 2038 are not taken for times before 1970. */
static void test_far_end(void **state)
{
	krb5_ccache cache = make("alice@OWN.TEST");

	(void)state;
	store(cache, "alice@OWN.TEST", "krbtgt/OWN.TEST@OWN.TEST", 4000000000, 0, 0);
	assert_true(inspect(cache));
	assert_int_equal(facts.expires, 4000000000);
}

static void test_garbage(void **state)
{
	krb5_ccache cache = make("alice@OWN.TEST");
	struct kind_secret secret, part, huge = kind_secret_of("", 0);

	(void)state;
	assert_false(inspect_bytes(&huge));
	kind_secret_free(&huge);
	huge = (struct kind_secret){calloc(1, KIND_MOST + 1), KIND_MOST};
	memset(huge.bytes, 0xff, KIND_MOST);
	memcpy(huge.bytes, "\5\4\0\0", 4);
	assert_false(inspect_bytes(&huge));
	kind_secret_free(&huge);

	store(cache, "alice@OWN.TEST", "krbtgt/OWN.TEST@OWN.TEST", NOW + 50, NOW + 500, TKT_FLG_RENEWABLE);
	secret = read_cache(cache);
	for (size_t size = 0; size < secret.size; size++) {
		part = kind_secret_of(secret.bytes, size);
		assert_false(inspect_bytes(&part));
		kind_secret_free(&part);
	}
	/* every byte damaged in turn: refused or not, but read within its bounds */
	for (size_t at = 0; at < secret.size; at++) {
		part = kind_secret_of(secret.bytes, secret.size);
		part.bytes[at] = (char)~part.bytes[at];
		inspect_bytes(&part);
		kind_secret_free(&part);
	}
	kind_secret_free(&secret);
}

static int begin(void **state)
{
	FILE *conf;

	if (unit_folder_make(state) != 0)
		return -1;
	conf = fopen(unit_path("krb5.conf"), "we");
	fputs("[libdefaults]\n default_realm = OWN.TEST\n dns_lookup_kdc = false\n[realms]\n NAMED.TEST = {\n  kdc = "
	      "127.0.0.1:1\n }\n",
	      conf);
	fclose(conf);
	setenv("KRB5_CONFIG", unit_path("krb5.conf"), 1);
	return krb5_init_context(&context) == 0 ? 0 : -1;
}

static int end(void **state)
{
	kind_facts_free(&facts);
	krb5_free_context(context);
	return unit_folder_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticket),	  cmocka_unit_test(test_not_renewable),
		cmocka_unit_test(test_no_ticket), cmocka_unit_test(test_foreign_realm_is_not_asked),
		cmocka_unit_test(test_far_end),	  cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
