/* sign_authenticator_test.c - an authenticator fits one subject, a signature one text. */
#include "tests/unit/unit.h"

#include "jobmgr/sign/sign.h"

static const char hash_a[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char hash_b[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static const struct sign_subject sample = {.uid = 1000,
					   .gid = 100,
					   .user = "u",
					   .script_hash = hash_a,
					   .environment_hash = hash_b,
					   .spec = "step_name=5:solve\n",
					   .number = 812};

static struct seal_mac_key *mac_key(void)
{
	struct err e;
	struct seal_mac_key *key;

	assert_true(seal_keys_make(unit_folder, &e));
	key = seal_mac_key_load(unit_path("auth.key"), &e);
	assert_non_null(key);
	return key;
}

static void fits(void **state)
{
	struct seal_mac_key *key = mac_key();
	char hex[SEAL_HEX_SIZE], again[SEAL_HEX_SIZE];

	(void)state;
	sign_authenticator(key, &sample, hex);
	sign_authenticator(key, &sample, again);
	assert_string_equal(hex, again);
	assert_int_equal(strlen(hex), 64);
	assert_true(sign_authenticator_check(key, &sample, hex));
	seal_mac_key_free(key);
}

static void altered_subjects(void **state)
{
	struct sign_subject altered[] = {sample, sample, sample, sample, sample, sample, sample, sample, sample};
	struct seal_mac_key *key = mac_key();
	char hex[SEAL_HEX_SIZE];

	(void)state;
	altered[0].uid = 0;
	altered[1].gid = 0;
	altered[2].user = "root";
	altered[3].script_hash = hash_b;
	altered[4].environment_hash = hash_a;
	altered[5].spec = "step_name=5:solvf\n";
	altered[6].user = "u\nscript=1:x"; /* no text of one field can look like another field */
	altered[7].number = 813;
	altered[8].number = 0;
	sign_authenticator(key, &sample, hex);
	for (size_t i = 0; i < sizeof altered / sizeof *altered; i++)
		assert_false(sign_authenticator_check(key, &altered[i], hex));
	seal_mac_key_free(key);
}

static void altered_authenticators(void **state)
{
	struct seal_mac_key *key = mac_key();
	char hex[SEAL_HEX_SIZE], other[SEAL_HEX_SIZE + 2];

	(void)state;
	sign_authenticator(key, &sample, hex);
	for (int i = 0; i < 64; i++) {
		strcpy(other, hex);
		other[i] = other[i] == '0' ? '1' : '0';
		assert_false(sign_authenticator_check(key, &sample, other));
	}
	assert_false(sign_authenticator_check(key, &sample, ""));
	assert_false(sign_authenticator_check(key, &sample, "zz"));
	snprintf(other, sizeof other, "%s0", hex);
	assert_false(sign_authenticator_check(key, &sample, other));
	snprintf(other, sizeof other, "%.62s", hex);
	assert_false(sign_authenticator_check(key, &sample, other));
	seal_mac_key_free(key);
}

static void other_key(void **state)
{
	struct seal_mac_key *key = mac_key(), *other;
	char hex[SEAL_HEX_SIZE];

	(void)state;
	sign_authenticator(key, &sample, hex);
	assert_int_equal(unlink(unit_path("auth.key")), 0);
	other = mac_key();
	assert_false(sign_authenticator_check(other, &sample, hex));
	seal_mac_key_free(key);
	seal_mac_key_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fits, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(altered_subjects, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(altered_authenticators, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(other_key, unit_folder_make, unit_folder_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
