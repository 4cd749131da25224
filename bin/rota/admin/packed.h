/* packed.h - writes a gzip file and computes the SHA-256 of its compressed bytes. */
#ifndef ROTA_BIN_PACKED_H
#define ROTA_BIN_PACKED_H

#include <stdbool.h>

#include "lib/err.h"

struct packed;

/* Size and hash of a complete file, as packed_close() returns them. */
struct packed_sum {
	long long bytes; /* size of the compressed file */
	char sha256[65]; /* SHA-256 of the compressed bytes, in hexadecimal */
};

/* Create a gzip file. Returns NULL with an error if `path` exists or cannot be created. `path` must stay valid until
 * packed_close(). */
struct packed *packed_open(const char *path, struct err *e);

bool packed_write(struct packed *p, const char *bytes, int size, struct err *e);

/* Close a file and free `p`. With `well`, first write the rest; returns true once the whole file is on disk. Without `well`,
 * close the file incomplete and return false. */
bool packed_close(struct packed *p, bool well, struct packed_sum *sum, struct err *e);

#endif
