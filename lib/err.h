/* err.h - errors and fatal errors. The function that fails writes the message once, in PostgreSQL's style: lower case, no full
 * stop, the object at fault in double quotes. The caller that handles the error logs the message. */
#ifndef ROTA_ERR_H
#define ROTA_ERR_H

#include <stdbool.h>

struct err {
	char code[6];	   /* SQLSTATE of the failure, "" if none applies */
	char message[512]; /* description of the failure */
	char hint[256];	   /* advice to the user, "" if there is none */
};

/* Set the error message and return false, so that a failing function can `return err_set(e, ...)`. */
bool err_set(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Set the error message, followed by ": <strerror(errno)>", and return false. */
bool err_sys(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add advice to the user to an error that is already set, and return false. */
bool err_hint(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Log a message and abort the process, after a broken invariant or out of memory. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Allocate memory, or end the process if there is none. */
void *xmalloc(unsigned long size);
void *xcalloc(unsigned long count, unsigned long size);
void *xrealloc(void *old, unsigned long size);
/* Overwrite memory that has a secret, and free it. */
void xfree_wiped(void *memory, unsigned long size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, unsigned long length);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
