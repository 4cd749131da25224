/* mail_message.h - writes a mail for the mail program. */
#ifndef ROTA_RUNNER_MAIL_MESSAGE_H
#define ROTA_RUNNER_MAIL_MESSAGE_H

#include <stdint.h>

struct mail_message {
	const char *recipients; /* valid (lib/mail.h) */
	const char *subject, *body;
	const char *key;     /* the same each time the mail is sent */
	const char *cluster; /* the instance's name */
	int64_t made_at;     /* seconds since 1970 */
};

/* Headers, an empty line and the text; malloc'ed. */
char *mail_message_write(const struct mail_message *m);

#endif
