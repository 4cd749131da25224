/* mail.c - checks the recipients of mail about jobs, and whether this machine can send mail.
 *
 * Called by: the translator, at submission; runnerd, for each mail; `rota up` and jobmgrd (mail_can_send).
 * Invariants:
 * - A recipient has only letters, digits and a few other characters that have no meaning in a mail header or to a mail program.
 * - No recipient begins with "-". */
#include "lib/mail.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECIPIENT_LONGEST = 254, LOCAL_LONGEST = 64, LABEL_LONGEST = 63 };

static bool is_local_part(const char *text, size_t length)
{
	if (length < 1 || length > LOCAL_LONGEST || *text == '-')
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !memchr("._+-=~&'#", text[i], 9))
			return false;
	return true;
}

static bool is_domain(const char *text, size_t length)
{
	size_t label = 0;

	for (size_t i = 0; i <= length; i++) {
		if (i < length && text[i] != '.') {
			if (!isalnum((unsigned char)text[i]) && (text[i] != '-' || label == 0))
				return false;
			label++;
			continue;
		}
		if (label < 1 || label > LABEL_LONGEST || text[i - 1] == '-')
			return false;
		label = 0;
	}
	return true;
}

static bool is_recipient(const char *text, size_t length)
{
	const char *at = memchr(text, '@', length);
	size_t local = at ? (size_t)(at - text) : length;

	return length <= RECIPIENT_LONGEST && is_local_part(text, local) && (!at || is_domain(at + 1, length - local - 1));
}

bool mail_recipients_valid(const char *text, struct err *e)
{
	int count = 0;

	for (const char *item = text;; item++) {
		size_t length = strcspn(item, ",");

		if (!is_recipient(item, length)) {
			err_set(e, "\"%.*s\" is not a mail address", length < 80 ? (int)length : 80, item);
			return err_hint(e, "Write a user's name or NAME@DOMAIN; several with commas between.");
		}
		if (++count > MAIL_RECIPIENTS_MOST)
			return err_set(e, "more than %d mail addresses", MAIL_RECIPIENTS_MOST);
		item += length;
		if (!*item)
			return true;
	}
}

char **mail_recipients(const char *text)
{
	char **list = xcalloc(MAIL_RECIPIENTS_MOST + 1, sizeof *list);

	for (int i = 0; *text && i < MAIL_RECIPIENTS_MOST; i++) {
		size_t length = strcspn(text, ",");

		list[i] = xstrndup(text, length);
		text += length + (text[length] == ',');
	}
	return list;
}

void mail_recipients_free(char **recipients)
{
	for (char **item = recipients; item && *item; item++)
		free(*item);
	free(recipients);
}

bool mail_can_send(const struct conf *conf)
{
	struct stat st;

	return stat(conf->mail_program, &st) == 0 && S_ISREG(st.st_mode) && access(conf->mail_program, X_OK) == 0;
}
