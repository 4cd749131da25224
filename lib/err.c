/* err.c - errors that a callee writes, and the ends of a process: die() and x*alloc().
 *
 * Called by: all.
 * Invariants:
 * - Message and hint are NUL-terminated.
 * - err_set() resets hint and code.
 * - `e` may be NULL if the caller does not need the error. */
#include "lib/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"

bool err_set(struct err *e, const char *format, ...)
{
	if (!e)
		return false;
	/* An argument may point into *e, as in ("%s", e->message), so the message is first written to `fresh`. */
	struct err fresh = {0};
	va_list args;
	va_start(args, format);
	vsnprintf(fresh.message, sizeof fresh.message, format, args);
	va_end(args);
	*e = fresh;
	return false;
}

bool err_sys(struct err *e, const char *format, ...)
{
	int number = errno;
	if (!e)
		return false;
	struct err fresh = {0};
	va_list args;
	va_start(args, format);
	vsnprintf(fresh.message, sizeof fresh.message, format, args);
	va_end(args);
	size_t used = strlen(fresh.message);
	char why[128];
	snprintf(fresh.message + used, sizeof fresh.message - used, ": %s", strerror_r(number, why, sizeof why));
	*e = fresh;
	errno = number;
	return false;
}

bool err_hint(struct err *e, const char *format, ...)
{
	if (!e)
		return false;
	va_list args;
	va_start(args, format);
	vsnprintf(e->hint, sizeof e->hint, format, args);
	va_end(args);
	return false;
}

void die(const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	log_error("%s", text);
	abort();
}

void *xmalloc(unsigned long size)
{
	void *p = malloc(size ? size : 1);
	if (!p)
		die("out of memory for %lu bytes", size);
	return p;
}

void *xcalloc(unsigned long count, unsigned long size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);
	if (!p)
		die("out of memory for %lu times %lu bytes", count, size);
	return p;
}

void *xrealloc(void *old, unsigned long size)
{
	void *p = realloc(old, size ? size : 1);
	if (!p)
		die("out of memory for %lu bytes", size);
	return p;
}

void xfree_wiped(void *memory, unsigned long size)
{
	if (memory)
		explicit_bzero(memory, size);
	free(memory);
}

char *xstrdup(const char *text)
{
	return xstrndup(text, strlen(text));
}

char *xstrndup(const char *text, unsigned long length)
{
	size_t size = strnlen(text, length);
	char *copy = xmalloc(size + 1);
	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

char *xasprintf(const char *format, ...)
{
	char *text;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		die("out of memory for a text like \"%s\"", format);
	return text;
}
