/* seal_tree.h - one signature for many texts, each of which can be checked without the others.
 *
 * The texts' hashes are the leaves of a tree whose root is signed. A text's proof is the signature, a byte that says on which side each
 * neighbour stands (bit 0: that of the leaf; 1: to the left), and the neighbours' hashes from the leaf up. A text that is signed alone
 * has the plain signature of itself for a proof. */
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

/* The root whose signature was found good last; begin with all 0. Of texts that were signed together only the first one checked costs
 * the check of a signature. */
struct seal_root {
	bool known;
	unsigned char hash[SEAL_HASH_SIZE], signature[SEAL_SIGNATURE_SIZE];
};

/* Proofs for 1 to SEAL_TREE_MOST texts. */
void seal_tree_sign(const struct seal_sign_key *key, const struct seal_text *texts, int count, struct seal_proof *proofs);
bool seal_tree_verify(const struct seal_verify_key *key, struct seal_root *root, const void *data, size_t size,
		      const struct seal_proof *proof);

#endif
