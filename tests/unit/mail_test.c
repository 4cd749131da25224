/* mail_test.c - mail as it is passed to the mail program: no value can add a header. */
#include "tests/unit/unit.h"

#include "lib/mail.h"
#include "runner/mail_message.h"

static char *written(const char *subject, const char *body)
{
	return mail_message_write(&(struct mail_message){.recipients = "alice,bob@example.org",
							 .subject = subject,
							 .body = body,
							 .key = "5.-1.0.END.1000",
							 .cluster = "my cluster",
							 .made_at = 1000000000});
}

/* The header of this name with its continuation lines; malloc'ed. */
static char *header(const char *text, const char *name)
{
	char *start = xasprintf("\n%s: ", name), *all = xasprintf("\n%s", text), *found = strstr(all, start), *value, *end;

	assert_non_null(found);
	assert_null(strstr(found + 1, start));
	assert_true(found < strstr(all, "\n\n"));
	end = found + strlen(start);
	do
		end += 1 + strcspn(end + 1, "\n");
	while (end[0] == '\n' && end[1] == ' ');
	value = xstrndup(found + strlen(start), (size_t)(end - found) - strlen(start));
	free(start);
	free(all);
	return value;
}

static void header_is(const char *text, const char *name, const char *expected)
{
	char *value = header(text, name);

	assert_string_equal(value, expected);
	free(value);
}

static void test_plain(void **state)
{
	char *text = written("Rota job 5 (heat) ended: completed", "Job: 5\nName: heat"), *id = header(text, "Message-ID");

	(void)state;
	header_is(text, "To", "alice,bob@example.org");
	header_is(text, "Subject", "Rota job 5 (heat) ended: completed");
	header_is(text, "Date", "Sun, 09 Sep 2001 01:46:40 +0000");
	header_is(text, "Auto-Submitted", "auto-generated");
	assert_non_null(strstr(text, "\n\nJob: 5\nName: heat\n\nCluster: my cluster\n"));
	assert_memory_equal(id, "<rota.my-cluster.5.-1.0.END.1000@", 33);
	free(id);
	free(text);
}

static void test_injection(void **state)
{
	char *text = written("x\r\nBcc: eve@example.org\n\nbody\x1b[2J", "a\x07\r\nb\xff");

	(void)state;
	header_is(text, "Subject", "x? Bcc: eve@example.org  body?[2J");
	assert_null(strstr(text, "\nBcc:"));
	assert_non_null(strstr(text, "\n\na??\nb?\n"));
	free(text);
}

static void test_encoded(void **state)
{
	char name[600] = "", *text, *subject;
	size_t lines = 0;

	(void)state;
	text = written("Rota job 5 (gr\xc3\xbc\xc3\x9f) began", "x");
	header_is(text, "Subject", "=?UTF-8?B?Um90YSBqb2IgNSAoZ3LDvMOfKSBiZWdhbg==?=");
	free(text);
	for (int i = 0; i < 255; i++)
		strcat(name, "\xc3\xbc");
	text = written(name, "x");
	subject = header(text, "Subject");
	for (const char *line = subject; *line; line += strcspn(line, "\n") + 1, lines++) {
		assert_true(strcspn(line, "\n") <= 76);
		assert_memory_equal(line + (lines > 0), "=?UTF-8?B?", 10);
		if (!line[strcspn(line, "\n")])
			break;
	}
	assert_true(lines >= 13);
	free(subject);
	free(text);
	text = written("=?UTF-8?B?QmNjOg==?=", "x"); /* a value that looks encoded is encoded */
	header_is(text, "Subject", "=?UTF-8?B?PT9VVEYtOD9CP1FtTmpPZz09Pz0=?=");
	free(text);
}

static void test_recipients(void **state)
{
	char **list = mail_recipients("alice,bob@example.org");
	struct err e;

	(void)state;
	assert_string_equal(list[0], "alice");
	assert_string_equal(list[1], "bob@example.org");
	assert_null(list[2]);
	mail_recipients_free(list);
	assert_true(mail_recipients_valid("o'neill_1@x.org", &e));
	assert_false(mail_recipients_valid("-t", &e));
	assert_false(mail_recipients_valid("DOMAIN\\user", &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_injection),
		cmocka_unit_test(test_encoded),
		cmocka_unit_test(test_recipients),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
