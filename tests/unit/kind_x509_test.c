/* kind_x509_test.c - PEM chains: subject, end, and files that are no chain. */
#include "tests/unit/unit.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

#include "credmgr/kind/kind_x509.h"

enum { NOW = 1700000000, DAY = 86400 };

static EVP_PKEY *own_key, *other_key;
static struct kind_facts facts;
static struct err error;

/* Write a certificate for own_key. `name` and `issuer` are lists of common names, separated by "/". */
static void write_certificate(BIO *out, const char *name, const char *issuer, long days, bool is_proxy)
{
	X509 *made = X509_new();
	const char *texts[] = {name, issuer};

	X509_set_version(made, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(made), 7);
	ASN1_TIME_set(X509_getm_notBefore(made), NOW - DAY);
	ASN1_TIME_set(X509_getm_notAfter(made), NOW + days * DAY);
	for (int i = 0; i < 2; i++) {
		X509_NAME *built = X509_NAME_new();
		char *copy = strdup(texts[i]), *rest = copy, *part;

		while ((part = strsep(&rest, "/")))
			X509_NAME_add_entry_by_txt(built, "CN", MBSTRING_UTF8, (unsigned char *)part, -1, -1, 0);
		(i ? X509_set_issuer_name : X509_set_subject_name)(made, built);
		X509_NAME_free(built);
		free(copy);
	}
	if (is_proxy) {
		PROXY_CERT_INFO_EXTENSION *mark = PROXY_CERT_INFO_EXTENSION_new();

		mark->proxyPolicy->policyLanguage = OBJ_nid2obj(NID_id_ppl_inheritAll);
		assert_int_equal(X509_add1_ext_i2d(made, NID_proxyCertInfo, mark, 1, 0), 1);
		PROXY_CERT_INFO_EXTENSION_free(mark);
	}
	X509_set_pubkey(made, own_key);
	X509_sign(made, own_key, EVP_sha256());
	PEM_write_bio_X509(out, made);
	X509_free(made);
}

static void write_key(BIO *out, EVP_PKEY *key)
{
	PEM_write_bio_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL);
}

static bool inspect_bytes(const char *bytes, size_t size)
{
	struct kind_secret secret = kind_secret_of(bytes, size);
	struct kind_options options = {.now = NOW};
	bool good;

	kind_facts_free(&facts);
	good = kind_x509_inspect(&secret, &options, &facts, &error);
	kind_secret_free(&secret);
	return good;
}

/* Inspect the written chain, and free it. */
static bool inspect(BIO *written)
{
	char *bytes;
	long size = BIO_get_mem_data(written, &bytes);
	bool good = inspect_bytes(bytes, (size_t)size);

	BIO_free(written);
	return good;
}

static void test_certificate(void **state)
{
	BIO *out = BIO_new(BIO_s_mem());

	(void)state;
	write_key(out, own_key);
	write_certificate(out, "Alice", "CA", 3, false);
	assert_true(inspect(out));
	assert_string_equal(facts.subject, "CN=Alice");
	assert_int_equal(facts.expires, NOW + 3 * DAY);
	assert_false(facts.renewable);
}

static void test_proxies(void **state)
{
	BIO *out = BIO_new(BIO_s_mem());

	(void)state;
	write_certificate(out, "Alice/12/34", "Alice/12", 2, true);
	write_key(out, own_key);
	write_certificate(out, "Alice/12", "Alice", 1, true);
	write_certificate(out, "Alice", "CA", 100, false);
	assert_true(inspect(out));
	assert_string_equal(facts.subject, "CN=Alice");
	assert_int_equal(facts.expires, NOW + DAY);

	/* proxies as they were before RFC 3820, and without the certificate of their owner */
	out = BIO_new(BIO_s_mem());
	write_certificate(out, "Alice/proxy/limited proxy", "Alice/proxy", 2, false);
	write_certificate(out, "Alice/proxy", "Alice", 2, false);
	write_key(out, own_key);
	assert_true(inspect(out));
	assert_string_equal(facts.subject, "CN=Alice");
}

static void test_expired_in_the_chain(void **state)
{
	BIO *out = BIO_new(BIO_s_mem());

	(void)state;
	write_certificate(out, "Alice", "CA", 2, false);
	write_certificate(out, "CA", "CA", 0, false);
	write_key(out, own_key);
	assert_false(inspect(out));
	assert_non_null(strstr(error.message, "expired at 2023-11-14"));
}

static void test_keys(void **state)
{
	BIO *out = BIO_new(BIO_s_mem());

	(void)state;
	write_certificate(out, "Alice", "CA", 2, false);
	assert_false(inspect(out));
	assert_non_null(strstr(error.message, "no private key"));

	out = BIO_new(BIO_s_mem());
	write_certificate(out, "Alice", "CA", 2, false);
	write_key(out, other_key);
	assert_false(inspect(out));
	assert_non_null(strstr(error.message, "not that of the first"));

	out = BIO_new(BIO_s_mem());
	write_certificate(out, "Alice", "CA", 2, false);
	PEM_write_bio_PrivateKey(out, own_key, EVP_aes_128_cbc(), (const unsigned char *)"secret", 6, NULL, NULL);
	assert_false(inspect(out));
	assert_non_null(strstr(error.message, "passphrase"));
}

static void test_garbage(void **state)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *bytes, *copy;
	long size;

	(void)state;
	assert_false(inspect_bytes("", 0));
	assert_false(inspect_bytes("-----BEGIN CERTIFICATE-----\n", 28));
	assert_false(inspect_bytes("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 60));
	for (int i = 0; i < 21; i++)
		write_certificate(out, "Alice", "CA", 2, false);
	write_key(out, own_key);
	assert_false(inspect(out));

	/* a chain that is cut at any byte is refused, or read whole if only the end of the key is missing */
	out = BIO_new(BIO_s_mem());
	write_certificate(out, "Alice", "CA", 2, false);
	write_key(out, own_key);
	size = BIO_get_mem_data(out, &bytes);
	copy = malloc((size_t)size);
	memcpy(copy, bytes, (size_t)size);
	for (long cut = 0; cut < size - 1; cut += 7)
		assert_false(inspect_bytes(copy, (size_t)cut));
	free(copy);
	BIO_free(out);
}

static int make_keys(void **state)
{
	(void)state;
	own_key = EVP_EC_gen("P-256");
	other_key = EVP_EC_gen("P-256");
	return own_key && other_key ? 0 : -1;
}

static int free_keys(void **state)
{
	(void)state;
	EVP_PKEY_free(own_key);
	EVP_PKEY_free(other_key);
	kind_facts_free(&facts);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_certificate), cmocka_unit_test(test_proxies), cmocka_unit_test(test_expired_in_the_chain),
		cmocka_unit_test(test_keys),	    cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
