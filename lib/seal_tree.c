/* seal_tree.c - signs several launch requests with one signature, and verifies each launch request by its proof.
 *
 * Called by: the leader, to sign launch requests; launchers, to verify them.
 * Invariants:
 * - Hashed texts, hashed pairs of hashes and signed roots begin with three different bytes. No text of fields begins with one of
 *   these bytes. So none of these four (text, pair, root, fields) can be taken for another. */
#include "lib/seal_tree.h"

#include <string.h>

enum { LEAF = 0, PAIR = 1, ROOT = 2, SIDES = SEAL_SIGNATURE_SIZE, PATH = SEAL_SIGNATURE_SIZE + 1 };

typedef unsigned char hash[SEAL_HASH_SIZE];

static void hash_leaf(const void *data, size_t size, hash result)
{
	struct seal_hash h;
	seal_hash_begin(&h);
	seal_hash_add(&h, &(char){LEAF}, 1);
	seal_hash_add(&h, data, size);
	seal_hash_end(&h, result);
}

static void hash_pair(const hash left, const hash right, hash result)
{
	unsigned char both[1 + 2 * SEAL_HASH_SIZE] = {PAIR};
	memcpy(both + 1, left, SEAL_HASH_SIZE);
	memcpy(both + 1 + SEAL_HASH_SIZE, right, SEAL_HASH_SIZE);
	seal_hash(both, sizeof both, result);
}

/* The bytes of a hash tree that are signed: ROOT and the hash of the root. */
struct signed_root {
	unsigned char bytes[1 + SEAL_HASH_SIZE];
};

static struct signed_root signed_root(const hash root)
{
	struct signed_root s = {{ROOT}};
	memcpy(s.bytes + 1, root, SEAL_HASH_SIZE);
	return s;
}

static void add_neighbour(struct seal_proof *proof, const hash neighbour, bool left)
{
	if (left)
		proof->bytes[SIDES] |= (unsigned char)(1u << ((proof->size - PATH) / SEAL_HASH_SIZE));
	memcpy(proof->bytes + proof->size, neighbour, SEAL_HASH_SIZE);
	proof->size += SEAL_HASH_SIZE;
}

void seal_tree_sign(const struct seal_sign_key *key, const struct seal_text *texts, int count, struct seal_proof *proofs)
{
	hash level[SEAL_TREE_MOST];
	if (count < 2) {
		seal_sign(key, texts[0].data, texts[0].size, proofs[0].bytes);
		proofs[0].size = SEAL_SIGNATURE_SIZE;
		return;
	}
	for (int i = 0; i < count; i++) {
		hash_leaf(texts[i].data, texts[i].size, level[i]);
		proofs[i] = (struct seal_proof){.size = PATH};
	}
	/* At height h of the tree, text i is below node i >> h. A node without a neighbour moves up unchanged. */
	for (int height = 0, nodes = count; nodes > 1; height++, nodes = (nodes + 1) / 2) {
		for (int i = 0; i < count; i++) {
			int beside = (i >> height) ^ 1;
			if (beside < nodes)
				add_neighbour(&proofs[i], level[beside], beside < i >> height);
		}
		for (int n = 0; n < nodes / 2; n++)
			hash_pair(level[2 * n], level[2 * n + 1], level[n]);
		if (nodes % 2)
			memcpy(level[nodes / 2], level[nodes - 1], SEAL_HASH_SIZE);
	}
	struct signed_root root = signed_root(level[0]);
	seal_sign(key, root.bytes, sizeof root.bytes, proofs[0].bytes);
	for (int i = 1; i < count; i++)
		memcpy(proofs[i].bytes, proofs[0].bytes, SEAL_SIGNATURE_SIZE);
}

/* Compute the root of a hash tree from a text and the proof of the text. Returns false if the proof is malformed. */
static bool tree_climb(const void *data, size_t size, const struct seal_proof *proof, hash root)
{
	if (proof->size <= PATH || proof->size > sizeof proof->bytes || (proof->size - PATH) % SEAL_HASH_SIZE)
		return false;
	size_t depth = (proof->size - PATH) / SEAL_HASH_SIZE;
	hash_leaf(data, size, root);
	for (size_t i = 0; i < depth; i++) {
		const unsigned char *neighbour = proof->bytes + PATH + i * SEAL_HASH_SIZE;
		if (proof->bytes[SIDES] >> i & 1)
			hash_pair(neighbour, root, root);
		else
			hash_pair(root, neighbour, root);
	}
	return proof->bytes[SIDES] >> depth == 0;
}

bool seal_tree_verify(const struct seal_verify_key *key, struct seal_root *root, const void *data, size_t size,
		      const struct seal_proof *proof)
{
	hash top;
	if (proof->size == SEAL_SIGNATURE_SIZE)
		return seal_verify(key, data, size, proof->bytes);
	if (!tree_climb(data, size, proof, top))
		return false;
	if (root->known && memcmp(root->hash, top, sizeof top) == 0 &&
	    memcmp(root->signature, proof->bytes, SEAL_SIGNATURE_SIZE) == 0)
		return true;
	struct signed_root s = signed_root(top);
	if (!seal_verify(key, s.bytes, sizeof s.bytes, proof->bytes))
		return false;
	root->known = true;
	memcpy(root->hash, top, sizeof top);
	memcpy(root->signature, proof->bytes, SEAL_SIGNATURE_SIZE);
	return true;
}
