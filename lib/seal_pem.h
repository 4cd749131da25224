/* seal_pem.h - reads key files in PEM form, for seal.c and box.c. */
#ifndef ROTA_SEAL_PEM_H
#define ROTA_SEAL_PEM_H

#include <openssl/types.h>
#include <stdbool.h>

#include "lib/err.h"

/* Read a private or a public key of the type that OpenSSL calls `type`. The file of a private key is refused if everybody has access to
 * it. Returns NULL with the reason in `e`. */
EVP_PKEY *seal_pem_load(const char *path, bool private, const char *type, struct err *e);

#endif
