/* mail_message.c - writes a mail for the mail program: headers, an empty line, the text.
 *
 * Called by: runner_mail.c for each mail.
 * Invariants:
 * - No value can add a header line: control characters become "?", and text that is not ASCII is encoded (RFC 2047).
 * - A mail that is sent again has the same Message-ID, so that mail readers show it once. */
#include "runner/mail_message.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/mail.h"
#include "lib/text.h"

enum {
	WORD_BYTES = 39,
	/* Bytes of an encoded word (RFC 2047) before and after encoding. A header line with an encoded word has at most 76
	 * characters, including the header's name. */
	WORD_CODED = 52
};

static bool is_plain(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7F)
			return false;
	return !strstr(text, "=?");
}

/* Returns the number of bytes of a UTF-8 text that go into one encoded word, in whole characters. */
static size_t word_length(const char *text)
{
	size_t length = strlen(text);

	if (length <= WORD_BYTES)
		return length;
	for (length = WORD_BYTES; length > 1 && ((unsigned char)text[length] & 0xC0) == 0x80;)
		length--;
	return length;
}

/* Encode free text as the value of a mail header, malloc'ed. */
static char *header_text(const char *value)
{
	char *text = xstrdup(value), *coded, *end;

	text_clean(text);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20)
			*c = ' ';
	if (is_plain(text))
		return text;
	coded = end = xmalloc((strlen(text) / (WORD_BYTES - 3) + 1) * (WORD_CODED + 16) + 8);
	for (size_t at = 0, length; text[at]; at += length) {
		length = word_length(text + at);
		end += sprintf(end, "%s=?UTF-8?B?", at ? "\n " : "");
		end += EVP_EncodeBlock((unsigned char *)end, (const unsigned char *)text + at, (int)length);
		end += sprintf(end, "?=");
	}
	free(text);
	return coded;
}

/* Make a text a valid part of an address: only letters, digits, ".", "-" and "_". */
static void address_clean(char *text)
{
	for (char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-' && *c != '_')
			*c = '-';
}

static char *message_id(const struct mail_message *m)
{
	char host[256] = "";
	char *id, *left, *right;

	gethostname(host, sizeof host - 1);
	left = xasprintf("rota.%s.%s", m->cluster, m->key);
	right = xstrdup(*host ? host : "localhost");
	address_clean(left);
	address_clean(right);
	id = xasprintf("<%s@%s>", left, right);
	free(left);
	free(right);
	return id;
}

char **mail_message_arguments(char **recipients)
{
	char **arguments = xcalloc(MAIL_RECIPIENTS_MOST + 3, sizeof *arguments);

	arguments[0] = "-i"; /* -i: a line with a single dot does not end the text of the mail */
	arguments[1] = "--";
	for (int i = 0; recipients[i]; i++)
		arguments[i + 2] = recipients[i];
	return arguments;
}

char *mail_message_write(const struct mail_message *m)
{
	char *subject = header_text(m->subject), *id = message_id(m), *body = xstrdup(m->body), *cluster = xstrdup(m->cluster),
	     *text;
	time_t made = (time_t)m->made_at;
	char date[64];
	struct tm tm;

	gmtime_r(&made, &tm);
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", &tm);
	text_clean(body);
	text_clean(cluster);
	text = xasprintf("To: %s\n"
			 "Subject: %s\n"
			 "Date: %s\n"
			 "Message-ID: %s\n"
			 "Auto-Submitted: auto-generated\n"
			 "MIME-Version: 1.0\n"
			 "Content-Type: text/plain; charset=UTF-8\n"
			 "Content-Transfer-Encoding: 8bit\n"
			 "\n"
			 "%s\n"
			 "\n"
			 "Cluster: %s\n",
			 m->recipients, subject, date, id, body, cluster);
	free(subject);
	free(id);
	free(body);
	free(cluster);
	return text;
}
