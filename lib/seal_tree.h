/* seal_tree.h - one signature for several launch requests, each of which can be verified without the others.
 *
 * The hashes of the texts are the leaves of a hash tree, and the root is signed. The proof of a text consists of the signature,
 * one byte of sides, and the hashes of the neighbours on the way from the leaf to the root. Bit i of the byte is 1 if neighbour i
 * is on the left; neighbour 0 is that of the leaf. The proof of a text that is signed alone is the plain signature of the
 * text. */
#ifndef ROTA_SEAL_TREE_H
#define ROTA_SEAL_TREE_H

#include "lib/seal.h"

enum { SEAL_TREE_MOST = 64, SEAL_TREE_DEPTH = 6, SEAL_PROOF_MOST = SEAL_SIGNATURE_SIZE + 1 + SEAL_TREE_DEPTH * SEAL_HASH_SIZE };

struct seal_text {
	const void *data;
	size_t size;
};

struct seal_proof {
	unsigned char bytes[SEAL_PROOF_MOST];
	size_t size;
};

/* Cache of the root whose signature was verified last; initially all zero. For texts that were signed together, the signature is
 * verified only for the first one. */
struct seal_root {
	bool known;
	unsigned char hash[SEAL_HASH_SIZE], signature[SEAL_SIGNATURE_SIZE];
};

/* Sign 1 to SEAL_TREE_MOST texts together, and write one proof for each text. */
void seal_tree_sign(const struct seal_sign_key *key, const struct seal_text *texts, int count, struct seal_proof *proofs);
bool seal_tree_verify(const struct seal_verify_key *key, struct seal_root *root, const void *data, size_t size,
		      const struct seal_proof *proof);

#endif
