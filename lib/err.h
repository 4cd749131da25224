/* err.h - one error, written once by the callee that fails, in PostgreSQL's message style:
 * lower case, no full stop, the thing at fault in double quotes. The one who decides logs it. */
#ifndef ROTA_ERR_H
#define ROTA_ERR_H

#include <stdbool.h>

struct err {
	char code[6];	   /* SQLSTATE of the failure, "" where none applies */
	char message[512]; /* what failed */
	char hint[256];	   /* what to do next, "" where there is nothing to say */
};

/* Set the message and return false, so that a callee can `return err_set(e, ...)`. */
bool err_set(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, with ": <strerror(errno)>" behind the message. */
bool err_sys(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add what to do next to an error already set; returns false too. */
bool err_hint(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* End the process at a broken invariant or where memory is out: log, then abort. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Allocation that dies instead of failing. */
void *xmalloc(unsigned long size);
void *xcalloc(unsigned long count, unsigned long size);
void *xrealloc(void *old, unsigned long size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, unsigned long length);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
