/* seal.h - hashes by libmd, authenticators and signatures by OpenSSL. Keys are in files. No secret is ever logged. */
#ifndef ROTA_SEAL_H
#define ROTA_SEAL_H

#include <sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum { SEAL_HASH_SIZE = 32, SEAL_MAC_SIZE = 32, SEAL_SIGNATURE_SIZE = 64, SEAL_HEX_SIZE = 65 };

/* SHA-256 of data that comes in pieces: call seal_hash_begin(), seal_hash_add() for each piece, seal_hash_end(). */
struct seal_hash {
	SHA2_CTX state;
};
void seal_hash_begin(struct seal_hash *h);
void seal_hash_add(struct seal_hash *h, const void *data, size_t size);
void seal_hash_end(struct seal_hash *h, unsigned char hash[SEAL_HASH_SIZE]);

/* SHA-256 of `data`, raw or as 64 lower-case hex digits with NUL. */
void seal_hash(const void *data, size_t size, unsigned char hash[SEAL_HASH_SIZE]);
void seal_hash_hex(const void *data, size_t size, char hex[SEAL_HEX_SIZE]);

/* Convert bytes to lower-case hex with NUL (2 * size + 1 characters), and back. seal_unhex() returns false unless `hex` is
 * exactly `size` bytes. */
void seal_hex(const void *bytes, size_t size, char *hex);
bool seal_unhex(const char *hex, void *bytes, size_t size);

struct seal_mac_key;	/* HMAC-SHA-256 */
struct seal_sign_key;	/* private half of the Ed25519 key, which only jobmgrd reads */
struct seal_verify_key; /* public half of the Ed25519 key, which is on every node */

/* Code of the error of a key file that exists and could not be opened, which may be temporary. It is SQLSTATE io_error. */
#define SEAL_UNREADABLE "58030"

/* Make the keys of a new instance: DIR/auth.key, DIR/sign.key (mode 0600) and DIR/sign.pub (0644). Keys that exist are kept. */
bool seal_keys_make(const char *dir, struct err *e);

/* Make a pair of keys for sealed boxes (lib/box.h): the private key (mode 0600) and its public half (0644). Files that exist are kept. */
bool seal_box_keys_make(const char *key, const char *pub, struct err *e);

/* Make a file (mode 0600) with 32 random bytes in hex, unless it exists. */
bool seal_secret_make(const char *path, struct err *e);

struct seal_mac_key *seal_mac_key_load(const char *path, struct err *e);
void seal_mac_key_free(struct seal_mac_key *key);
void seal_mac(const struct seal_mac_key *key, const void *data, size_t size, unsigned char mac[SEAL_MAC_SIZE]);
bool seal_mac_check(const struct seal_mac_key *key, const void *data, size_t size, const unsigned char mac[SEAL_MAC_SIZE]);

struct seal_sign_key *seal_sign_key_load(const char *path, struct err *e);
void seal_sign_key_free(struct seal_sign_key *key);
void seal_sign(const struct seal_sign_key *key, const void *data, size_t size, unsigned char signature[SEAL_SIGNATURE_SIZE]);

struct seal_verify_key *seal_verify_key_load(const char *path, struct err *e);
void seal_verify_key_free(struct seal_verify_key *key);
bool seal_verify(const struct seal_verify_key *key, const void *data, size_t size,
		 const unsigned char signature[SEAL_SIGNATURE_SIZE]);

#endif
