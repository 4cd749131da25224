/* seal_hash.c - SHA-256 by libmd, and conversion of bytes to hexadecimal. OpenSSL is not used, since loading it takes longer than
 * everything else in a short program such as `rota submit`.
 *
 * Called by: every part of Rota that hashes.
 * Invariants:
 * - The result is the same for any split of the input into pieces. */
#include <string.h>

#include "lib/seal.h"

void seal_hash_begin(struct seal_hash *h)
{
	SHA256Init(&h->state);
}

void seal_hash_add(struct seal_hash *h, const void *data, size_t size)
{
	SHA256Update(&h->state, data, size);
}

void seal_hash_end(struct seal_hash *h, unsigned char hash[SEAL_HASH_SIZE])
{
	SHA256Final(hash, &h->state);
}

void seal_hash(const void *data, size_t size, unsigned char hash[SEAL_HASH_SIZE])
{
	struct seal_hash h;

	seal_hash_begin(&h);
	seal_hash_add(&h, data, size);
	seal_hash_end(&h, hash);
}

void seal_hex(const void *bytes, size_t size, char *hex)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *b = bytes;
	for (size_t i = 0; i < size; i++) {
		hex[2 * i] = digits[b[i] >> 4];
		hex[2 * i + 1] = digits[b[i] & 15];
	}
	hex[2 * size] = '\0';
}

static int hex_digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool seal_unhex(const char *hex, void *bytes, size_t size)
{
	unsigned char *b = bytes;
	if (strlen(hex) != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		b[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

void seal_hash_hex(const void *data, size_t size, char hex[SEAL_HEX_SIZE])
{
	unsigned char hash[SEAL_HASH_SIZE];
	seal_hash(data, size, hash);
	seal_hex(hash, sizeof hash, hex);
}
