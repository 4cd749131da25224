/* seal_tree_test.c - one signature for many texts: each is verified by its own proof, and nothing else is. */
#include "tests/unit/unit.h"

#include "lib/seal_tree.h"

static struct seal_sign_key *sign;
static struct seal_verify_key *verify;
static char lines[SEAL_TREE_MOST][32];
static struct seal_text texts[SEAL_TREE_MOST];
static struct seal_proof proofs[SEAL_TREE_MOST];

static int make(void **state)
{
	struct err e;
	if (unit_folder_make(state) != 0 || !seal_keys_make(unit_folder, &e))
		return -1;
	sign = seal_sign_key_load(unit_path("sign.key"), &e);
	verify = seal_verify_key_load(unit_path("sign.pub"), &e);
	for (int i = 0; i < SEAL_TREE_MOST; i++) {
		snprintf(lines[i], sizeof lines[i], "job_id=%d:%d\n", 1 + (i > 9), i);
		texts[i] = (struct seal_text){lines[i], strlen(lines[i])};
	}
	return sign && verify ? 0 : -1;
}

static int clear(void **state)
{
	seal_sign_key_free(sign);
	seal_verify_key_free(verify);
	return unit_folder_remove(state);
}

/* Verify a text, once with no root known, and once with the right root known. */
static bool verified(int text, const struct seal_proof *proof)
{
	struct seal_root none = {false}, known = {false};
	seal_tree_verify(verify, &known, texts[0].data, texts[0].size, &proofs[0]);
	bool alone = seal_tree_verify(verify, &none, texts[text].data, texts[text].size, proof);
	assert_int_equal(seal_tree_verify(verify, &known, texts[text].data, texts[text].size, proof), alone);
	return alone;
}

static void test_each(void **state)
{
	(void)state;
	static const int counts[] = {1, 2, 3, 4, 5, 7, 13, 33, SEAL_TREE_MOST};
	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
		seal_tree_sign(sign, texts, counts[c], proofs);
		for (int i = 0; i < counts[c]; i++) {
			assert_true(verified(i, &proofs[i]));
			assert_false(verified((i + 1) % SEAL_TREE_MOST, &proofs[i]));
		}
	}
	assert_int_equal(proofs[0].size, SEAL_PROOF_MOST);
}

static void test_altered(void **state)
{
	(void)state;
	static const int counts[] = {1, 2, 5};
	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
		seal_tree_sign(sign, texts, counts[c], proofs);
		for (int i = 0; i < counts[c]; i++) {
			for (size_t at = 0; at < proofs[i].size; at++) {
				struct seal_proof altered = proofs[i];
				altered.bytes[at] ^= 0x10;
				assert_false(verified(i, &altered));
			}
			static const int off[] = {-64, -33, -32, -1, 1, 32, 33};
			for (size_t o = 0; o < sizeof off / sizeof *off; o++) {
				struct seal_proof altered = proofs[i];
				altered.size += (size_t)off[o];
				assert_false(verified(i, &altered));
			}
		}
	}
}

/* A node of the tree is no text, and the root's signature is that of no text. */
static void test_confused(void **state)
{
	(void)state;
	unsigned char both[2 * SEAL_HASH_SIZE], leaf[1 + 32] = {0};
	struct seal_root root = {false};
	seal_tree_sign(sign, texts, 3, proofs);
	memcpy(leaf + 1, texts[0].data, texts[0].size);
	seal_hash(leaf, 1 + texts[0].size, both);
	memcpy(both + SEAL_HASH_SIZE, proofs[0].bytes + SEAL_SIGNATURE_SIZE + 1, SEAL_HASH_SIZE);
	struct seal_proof shorter = proofs[2]; /* its one neighbour is the inner node of the other two texts */
	shorter.bytes[SEAL_SIGNATURE_SIZE] ^= 1;
	memcpy(shorter.bytes + SEAL_SIGNATURE_SIZE + 1, proofs[0].bytes + SEAL_SIGNATURE_SIZE + 1 + SEAL_HASH_SIZE,
	       SEAL_HASH_SIZE);
	assert_false(seal_tree_verify(verify, &root, both, sizeof both, &shorter));
	shorter.size = SEAL_SIGNATURE_SIZE;
	assert_false(seal_tree_verify(verify, &root, texts[2].data, texts[2].size, &shorter));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each, make, clear),
		cmocka_unit_test_setup_teardown(test_altered, make, clear),
		cmocka_unit_test_setup_teardown(test_confused, make, clear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
