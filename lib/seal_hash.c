/* seal_hash.c - SHA-256, and bytes as hexadecimal digits, without OpenSSL: loading that takes a short program such as `rota submit`
 * longer than all else it does.
 *
 * Every part of Rota hashes with this. What always holds: the result is FIPS 180-4's for any split of the input into pieces
 * (tests/unit/seal_test.c compares it with OpenSSL's). */
#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "lib/seal.h"

static const uint32_t ROUND[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
	0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

static void block_add(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];

	for (int i = 0; i < 16; i++) {
		memcpy(&w[i], block + 4 * i, 4);
		w[i] = be32toh(w[i]);
	}
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	for (int i = 0; i < 64; i++) {
		uint32_t one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + w[i];
		uint32_t two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));

		h = g, g = f, f = e, e = d + one;
		d = c, c = b, b = a, a = one + two;
	}
	state[0] += a, state[1] += b, state[2] += c, state[3] += d;
	state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void seal_hash_begin(struct seal_hash *h)
{
	static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	memcpy(h->state, start, sizeof start);
	h->size = 0;
}

void seal_hash_add(struct seal_hash *h, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	size_t held = h->size % sizeof h->block;

	h->size += size;
	if (held + size >= sizeof h->block && held > 0) {
		memcpy(h->block + held, bytes, sizeof h->block - held);
		block_add(h->state, h->block);
		bytes += sizeof h->block - held;
		size -= sizeof h->block - held;
		held = 0;
	}
	for (; size >= sizeof h->block; bytes += sizeof h->block, size -= sizeof h->block)
		block_add(h->state, bytes);
	if (size > 0)
		memcpy(h->block + held, bytes, size);
}

void seal_hash_end(struct seal_hash *h, unsigned char hash[SEAL_HASH_SIZE])
{
	static const unsigned char padding[64] = {0x80};
	uint64_t bits = htobe64(h->size * 8);
	uint32_t word;

	seal_hash_add(h, padding, 1 + (119 - h->size % 64) % 64);
	seal_hash_add(h, &bits, sizeof bits);
	for (int i = 0; i < 8; i++) {
		word = htobe32(h->state[i]);
		memcpy(hash + 4 * i, &word, 4);
	}
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
