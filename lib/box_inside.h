/* box_inside.h - box.c with the parts chosen by the caller, for tests with published vectors. */
#ifndef ROTA_BOX_INSIDE_H
#define ROTA_BOX_INSIDE_H

#include <openssl/types.h>

#include "lib/box.h"

/* Cipher of a box. `id` is the number of its AEAD in RFC 9180. */
struct box_cipher {
	unsigned char id;
	size_t key_size;
	const EVP_CIPHER *(*cipher)(void);
};

/* The arguments of box_seal() and box_open(), and the values that they choose. */
struct box_parts {
	const struct box_cipher *cipher;
	const char *context;
	const void *aad; /* bytes that are authenticated with the content */
	size_t aad_size;
};

/* Make a private key from its bytes. */
struct box_key *box_key_new(const unsigned char bytes[BOX_KEY]);

/* Seal with a given ephemeral key. `box` has room for size + BOX_OVERHEAD bytes. */
bool box_seal_with(const struct box_parts *parts, const struct box_key *ephemeral, const unsigned char to[BOX_KEY],
		   const struct box_key *from, const void *plain, size_t size, unsigned char *box);
/* Open a box into `plain`, which has room for box_size - BOX_OVERHEAD bytes. */
bool box_open_with(const struct box_parts *parts, const struct box_key *mine, const unsigned char *from, const unsigned char *box,
		   size_t box_size, unsigned char *plain);

#endif
