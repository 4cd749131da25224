/* mail_message.h - a mail as the mail program reads it. */
#ifndef ROTA_RUNNER_MAIL_MESSAGE_H
#define ROTA_RUNNER_MAIL_MESSAGE_H

#include <stdint.h>

struct mail_message {
	const char *recipients; /* valid (lib/mail.h) */
	const char *subject, *body;
	const char *key;     /* the same at each try */
	const char *cluster; /* the instance's name */
	int64_t made_at;     /* seconds since 1970 */
};

/* Headers, an empty line, the text; malloc'ed. */
char *mail_message_write(const struct mail_message *m);

#endif
