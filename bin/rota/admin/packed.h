/* packed.h - a file as it is written: compressed, and hashed as it will stand there. */
#ifndef ROTA_BIN_PACKED_H
#define ROTA_BIN_PACKED_H

#include <stdbool.h>

#include "lib/err.h"

struct packed;

/* What packed_close says of a whole file. */
struct packed_sum {
	long long bytes; /* as it stands there */
	char sha256[65]; /* of those, in hexadecimal */
};

/* A new file of gzip's; NULL with an error where there is one of that name. `path` stays the caller's. */
struct packed *packed_open(const char *path, struct err *e);

bool packed_write(struct packed *p, const char *bytes, int size, struct err *e);

/* The end: whole and on disk when it returns true. What has begun and is not `well` is closed as it is. */
bool packed_close(struct packed *p, bool well, struct packed_sum *sum, struct err *e);

#endif
