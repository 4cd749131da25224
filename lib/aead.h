/* aead.h - encrypts and decrypts by a cipher that authenticates, such as AES-256-GCM. */
#ifndef ROTA_AEAD_H
#define ROTA_AEAD_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/types.h>

enum { AEAD_TAG = 16, AEAD_NONCE = 12 };

/* The parameters with which one text is sealed. A key must never seal two texts with one nonce. */
struct aead {
	const EVP_CIPHER *cipher;
	const unsigned char *key;   /* key, as long as the keys of the cipher */
	const unsigned char *nonce; /* AEAD_NONCE bytes */
	const void *aad;	    /* bytes that are authenticated with the text */
	size_t aad_size;
};

/* Encrypt `size` bytes. `sealed` has room for size + AEAD_TAG bytes. Returns false if OpenSSL fails. */
bool aead_seal(const struct aead *a, const void *plain, size_t size, unsigned char *sealed);

/* Decrypt the first `size` bytes of `sealed`; the tag comes after them. `plain` has room for `size` bytes. Returns false, with
 * `plain` wiped, if the tag does not match. */
bool aead_open(const struct aead *a, const unsigned char *sealed, size_t size, unsigned char *plain);

#endif
