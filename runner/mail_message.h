/* mail_message.h - writes a mail for the mail program. */
#ifndef ROTA_RUNNER_MAIL_MESSAGE_H
#define ROTA_RUNNER_MAIL_MESSAGE_H

#include <stdint.h>

struct mail_message {
	const char *recipients; /* comma-separated recipients, which mail_recipients_valid() has accepted (lib/mail.h) */
	const char *subject, *body;
	const char *key;     /* key of the mail, which stays the same if the mail is sent again */
	const char *cluster; /* cluster name, which is the instance's name */
	int64_t made_at;     /* when the mail was made, in seconds since 1970 */
};

/* Write the headers, an empty line and the text of a mail into malloc'ed memory. */
char *mail_message_write(const struct mail_message *m);

/* Make the arguments of the mail program for recipients of mail_recipients() (lib/mail.h): -i -- RECIPIENT... Only the list is malloc'ed. */
char **mail_message_arguments(char **recipients);

#endif
