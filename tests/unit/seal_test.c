/* seal_test.c - hashes and authenticators against published vectors, signatures against alteration, key files against misuse. */
#include "tests/unit/unit.h"

#include <openssl/evp.h>
#include <sys/stat.h>

#include "lib/seal.h"

static void file_write(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_hash(void **state)
{
	(void)state;
	char hex[SEAL_HEX_SIZE];
	seal_hash_hex("abc", 3, hex); /* FIPS 180-2 */
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	seal_hash_hex("", 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* Each length around block borders, in two pieces divided at each place, compared with OpenSSL. */
static void test_hash_pieces(void **state)
{
	(void)state;
	unsigned char data[200], whole[SEAL_HASH_SIZE], pieces[SEAL_HASH_SIZE];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 37 + 11);
	for (size_t size = 0; size <= sizeof data; size++) {
		assert_int_equal(EVP_Digest(data, size, whole, NULL, EVP_sha256(), NULL), 1);
		for (size_t cut = 0; cut <= size; cut++) {
			struct seal_hash h;
			seal_hash_begin(&h);
			seal_hash_add(&h, data, cut);
			seal_hash_add(&h, data + cut, size - cut);
			seal_hash_end(&h, pieces);
			assert_memory_equal(pieces, whole, sizeof whole);
		}
	}
}

static void test_hex(void **state)
{
	(void)state;
	unsigned char bytes[4] = {0, 0x9a, 0xff, 0x10}, back[4];
	char hex[9];
	seal_hex(bytes, sizeof bytes, hex);
	assert_string_equal(hex, "009aff10");
	assert_true(seal_unhex(hex, back, sizeof back));
	assert_memory_equal(bytes, back, sizeof back);
	assert_false(seal_unhex("009aff1", back, sizeof back));
	assert_false(seal_unhex("009aff100", back, sizeof back));
	assert_false(seal_unhex("009AFF10", back, sizeof back));
	assert_false(seal_unhex("009aff1g", back, sizeof back));
}

static void test_mac(void **state)
{
	(void)state;
	/* Test case 2 of RFC 4231 has the key "Jefe". HMAC pads short keys with zeros, so "Jefe" padded to 32 bytes gives the
	 * same MAC. */
	const char *path = unit_path("auth.key"), *text = "what do ya want for nothing?";
	file_write(path, "4a65666500000000000000000000000000000000000000000000000000000000\n", 0600);
	struct err e;
	struct seal_mac_key *key = seal_mac_key_load(path, &e);
	assert_non_null(key);
	unsigned char mac[SEAL_MAC_SIZE];
	char hex[SEAL_HEX_SIZE];
	seal_mac(key, text, strlen(text), mac);
	seal_hex(mac, sizeof mac, hex);
	assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	assert_true(seal_mac_check(key, text, strlen(text), mac));
	assert_false(seal_mac_check(key, text, strlen(text) - 1, mac));
	mac[31] ^= 1;
	assert_false(seal_mac_check(key, text, strlen(text), mac));
	seal_mac_key_free(key);
}

static void test_mac_key_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"\n",
		"4a65",
		"4a6566650000000000000000000000000000000000000000000000000000000g",
		"4A65666500000000000000000000000000000000000000000000000000000000",
		"4a656665000000000000000000000000000000000000000000000000000000000",
	};
	struct err e;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		file_write(unit_path("auth.key"), bad[i], 0600);
		assert_null(seal_mac_key_load(unit_path("auth.key"), &e));
		if (strlen(bad[i]) > 8) /* no part of a key in a message */
			assert_null(strstr(e.message, "4a65"));
	}
	assert_null(seal_mac_key_load(unit_path("absent"), &e));
	assert_null(seal_mac_key_load(unit_folder, &e));
}

static void test_open_to_everybody(void **state)
{
	(void)state;
	struct err e;
	assert_true(seal_keys_make(unit_folder, &e));
	chmod(unit_path("auth.key"), 0604);
	chmod(unit_path("sign.key"), 0604);
	assert_null(seal_mac_key_load(unit_path("auth.key"), &e));
	assert_non_null(strstr(e.message, "accessible to all users"));
	assert_null(seal_sign_key_load(unit_path("sign.key"), &e));
}

static void test_keys_make(void **state)
{
	(void)state;
	struct err e;
	struct stat st;
	assert_true(seal_keys_make(unit_folder, &e));
	assert_int_equal(stat(unit_path("auth.key"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(unit_path("sign.key"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	ino_t before = st.st_ino;
	assert_int_equal(stat(unit_path("sign.pub"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(unlink(unit_path("sign.pub")), 0);
	assert_true(seal_keys_make(unit_folder, &e)); /* existing keys are kept, missing ones made */
	assert_int_equal(stat(unit_path("sign.key"), &st), 0);
	assert_int_equal(st.st_ino, before);
	assert_int_equal(access(unit_path("sign.pub"), F_OK), 0);
	unlink(unit_path("sign.key"));
	assert_false(seal_keys_make(unit_folder, &e)); /* a new private key beside the old public key */
	assert_non_null(strstr(e.message, "public half"));
}

static void test_sign(void **state)
{
	(void)state;
	struct err e;
	unsigned char signature[SEAL_SIGNATURE_SIZE], again[SEAL_SIGNATURE_SIZE];
	char text[] = "an order of some length";
	assert_true(seal_keys_make(unit_folder, &e));
	struct seal_sign_key *sign = seal_sign_key_load(unit_path("sign.key"), &e);
	struct seal_verify_key *verify = seal_verify_key_load(unit_path("sign.pub"), &e);
	assert_non_null(sign);
	assert_non_null(verify);
	seal_sign(sign, text, sizeof text, signature);
	seal_sign(sign, text, sizeof text, again);
	assert_memory_equal(signature, again, sizeof again);
	assert_true(seal_verify(verify, text, sizeof text, signature));
	assert_false(seal_verify(verify, text, sizeof text - 1, signature));
	for (size_t i = 0; i < sizeof text; i++) {
		text[i] ^= 1;
		assert_false(seal_verify(verify, text, sizeof text, signature));
		text[i] ^= 1;
	}
	for (size_t i = 0; i < sizeof signature; i++) {
		signature[i] ^= 128;
		assert_false(seal_verify(verify, text, sizeof text, signature));
		signature[i] ^= 128;
	}
	memset(again, 0, sizeof again);
	assert_false(seal_verify(verify, text, sizeof text, again));
	seal_sign_key_free(sign);
	seal_verify_key_free(verify);
}

static void test_another_key(void **state)
{
	(void)state;
	struct err e;
	unsigned char signature[SEAL_SIGNATURE_SIZE];
	assert_true(seal_keys_make(unit_folder, &e));
	struct seal_sign_key *sign = seal_sign_key_load(unit_path("sign.key"), &e);
	assert_non_null(sign);
	seal_sign(sign, "x", 1, signature);
	seal_sign_key_free(sign);
	unlink(unit_path("sign.key"));
	unlink(unit_path("sign.pub"));
	assert_true(seal_keys_make(unit_folder, &e));
	struct seal_verify_key *verify = seal_verify_key_load(unit_path("sign.pub"), &e);
	assert_non_null(verify);
	assert_false(seal_verify(verify, "x", 1, signature));
	seal_verify_key_free(verify);
	assert_null(seal_verify_key_load(unit_path("sign.key"), &e)); /* a private key file is not loaded as a public one */
	assert_null(seal_verify_key_load(unit_path("auth.key"), &e));
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, unit_folder_make, unit_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash), cmocka_unit_test(test_hash_pieces),  cmocka_unit_test(test_hex),
		FOLDER_TEST(test_mac),	     FOLDER_TEST(test_mac_key_refused),	  FOLDER_TEST(test_keys_make),
		FOLDER_TEST(test_sign),	     FOLDER_TEST(test_open_to_everybody), FOLDER_TEST(test_another_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
