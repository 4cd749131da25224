/* keyring.h - the keys of rota-credd: those that seal credentials in the database, and the one that boxes are made with.
 *
 * The folder has `cred.key` (X25519 in PEM form: uploads are sealed for it, and boxes for nodes come from it) and `1.key`,
 * `2.key` and so on (AES-256, 64 hex digits each). The key with the highest number seals; the others only open secrets that they
 * have sealed. */
#ifndef ROTA_CREDMGR_KEYRING_H
#define ROTA_CREDMGR_KEYRING_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/box.h"

enum { KEYRING_NONCE = 12 };

struct keyring;

/* Read the keys of a folder, which only this account may be able to read. Returns NULL with the reason in `e`. */
struct keyring *keyring_open(const char *folder, struct err *e);
void keyring_free(struct keyring *ring);

/* Returns the number of the newest key, which seals. */
int keyring_newest(const struct keyring *ring);

/* Make the next key, and have it seal from now on. The file is on disk when this returns true. */
bool keyring_next(struct keyring *ring, struct err *e);

/* Returns the key that boxes are made with, and that uploads are opened with. */
const struct box_key *keyring_box(const struct keyring *ring);

/* Seal a secret under the newest key, with a random nonce. context: a text that names the credential and version; the secret
 * opens with the same context only. *sealed is malloc'ed. */
bool keyring_seal(const struct keyring *ring, const char *context, const void *plain, size_t size,
		  unsigned char nonce[KEYRING_NONCE], unsigned char **sealed, size_t *sealed_size, struct err *e);

/* Open a secret that keyring_seal() sealed under key `number`. *plain is malloc'ed, with a NUL after it; free it by
 * xfree_wiped(). */
bool keyring_unseal(const struct keyring *ring, int number, const char *context, const unsigned char nonce[KEYRING_NONCE],
		    const unsigned char *sealed, size_t sealed_size, unsigned char **plain, size_t *size, struct err *e);

#endif
