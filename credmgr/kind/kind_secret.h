/* kind_secret.h - bytes of a secret, and files in memory by which programs and libraries read and write them. */
#ifndef ROTA_CREDMGR_KIND_SECRET_H
#define ROTA_CREDMGR_KIND_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

enum { KIND_MOST = 1 << 20 }; /* largest secret in bytes */

struct kind_secret {
	char *bytes; /* malloc'ed bytes of the secret, followed by a NUL */
	size_t size;
};

/* Copy bytes into a new secret. */
struct kind_secret kind_secret_of(const void *bytes, size_t size);

/* Overwrite the bytes and free them. Does nothing to an empty secret (all zero). */
void kind_secret_free(struct kind_secret *s);

/* Read a descriptor to its end. Fails if there are more than KIND_MOST bytes. */
bool kind_secret_read(int fd, struct kind_secret *s, struct err *e);

/* Write all bytes to a descriptor. */
bool kind_secret_write(int fd, const char *bytes, size_t size, struct err *e);

/* Returns a file in memory that has these bytes and only this account can open. It is rewound, and closed when a program is executed. */
int kind_secret_file(const char *bytes, size_t size);

#endif
