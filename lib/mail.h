/* mail.h - checks the recipients of mail about jobs, and whether this machine can send mail. */
#ifndef ROTA_MAIL_H
#define ROTA_MAIL_H

#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

enum { MAIL_RECIPIENTS_MOST = 10 };

/* Returns true if `text` is a comma-separated list of recipients, each a local name or NAME@DOMAIN. A text that a mail program
 * might take for an option, a program, a file or a route is not a recipient. */
bool mail_recipients_valid(const char *text, struct err *e);

/* Split a valid list of recipients. Returns a NULL-terminated array, which the caller frees with mail_recipients_free(). */
char **mail_recipients(const char *text);
void mail_recipients_free(char **recipients);

/* Returns true if mail.program of the configuration is an executable file on this machine. */
bool mail_can_send(const struct conf *conf);

#endif
