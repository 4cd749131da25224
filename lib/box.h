/* box.h - sealed boxes: bytes that the holder of one private key alone can read.
 *
 * A box is HPKE of RFC 9180, single shot, with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. docs/formats.md has the layout. */
#ifndef ROTA_BOX_H
#define ROTA_BOX_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

enum {
	BOX_KEY = 32,			  /* bytes of a public key */
	BOX_TAG = 16,			  /* bytes that authenticate the content */
	BOX_OVERHEAD = BOX_KEY + BOX_TAG, /* bytes by which a box is longer than its content */
	BOX_CONTENT_LARGEST = 16 * 1024 * 1024
};

struct box_key; /* a private key, in memory that is wiped when it is freed */

/* Read a private key in PEM form, as `openssl genpkey -algorithm x25519` writes it. Returns NULL with the reason in `e`. */
struct box_key *box_key_read(const char *path, struct err *e);
void box_key_free(struct box_key *key);
void box_key_public(const struct box_key *key, unsigned char public_key[BOX_KEY]);

/* Read a public key in PEM form, as `openssl pkey -pubout` writes it. */
bool box_public_read(const char *path, unsigned char public_key[BOX_KEY], struct err *e);

/* Seal `size` bytes for the holder of the key `to`. from: key of the sender, so that the holder knows who made the box; NULL:
 * anybody can make it. context: a text that both sides know; the box opens with the same context only. *box is malloc'ed. */
bool box_seal(const unsigned char to[BOX_KEY], const struct box_key *from, const char *context, const void *plain, size_t size,
	      unsigned char **box, size_t *box_size, struct err *e);

/* Open a box. from: public key of the expected sender; NULL: the box has none. *plain is malloc'ed, with a NUL after it; free it by
 * xfree_wiped(). */
bool box_open(const struct box_key *mine, const unsigned char from[BOX_KEY], const char *context, const unsigned char *box,
	      size_t box_size, unsigned char **plain, size_t *size, struct err *e);

#endif
