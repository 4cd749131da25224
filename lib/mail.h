/* mail.h - whom mail about jobs may go to, and whether this machine can send it. */
#ifndef ROTA_MAIL_H
#define ROTA_MAIL_H

#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

enum { MAIL_RECIPIENTS_MOST = 10 };

/* Whether the text names recipients: local names or NAME@DOMAIN, with commas between. What a mail program might take for an option, a
 * program, a file or a route is none. */
bool mail_recipients_valid(const char *text, struct err *e);

/* The recipients of a valid text, each by itself; NULL-terminated, for mail_recipients_free. */
char **mail_recipients(const char *text);
void mail_recipients_free(char **recipients);

/* Whether mail.program is an executable file here. */
bool mail_can_send(const struct conf *conf);

#endif
