/* credential_test.c - lists of credentials, and the text for which a delivery is sealed. */
#include "tests/unit/unit.h"

#include "lib/credential.h"

static void test_list(void **state)
{
	(void)state;
	struct credential list[CREDENTIALS_MOST];
	assert_int_equal(credential_list_read("krb5,archive,deploy", list), 3);
	assert_string_equal(list[0].name, "krb5");
	assert_int_equal(list[0].kind, CREDENTIAL_KINDS);
	assert_string_equal(list[1].name, "archive");
	assert_string_equal(list[2].name, "deploy");
	assert_string_equal(credential_kind_name(CREDENTIAL_SSH_KEY), "ssh-key");
	assert_int_equal(credential_list_read("", list), -1);
}

static void test_context(void **state)
{
	(void)state;
	const struct credential krb5 = {"mine", CREDENTIAL_KRB5};
	const struct credential_delivery d = {"prod", "n3", 5000000000, 2, 1, 4294967294, &krb5, 7};
	char *text = credential_delivery_context(&d);
	assert_string_equal(text, "rota delivery 1\nprod\nn3\n5000000000.2.1\n4294967294\nmine\nkrb5\n7");
	free(text);
	text = credential_upload_context("prod", 4294967294, "mine", "krb5");
	assert_string_equal(text, "rota upload 1\nprod\n4294967294\nmine\nkrb5");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_list), cmocka_unit_test(test_context)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
