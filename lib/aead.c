/* aead.c - encrypts and decrypts by OpenSSL's AEADs.
 *
 * Called by: box.c, which seals for nodes; rota-credd's keyring.c, which seals for the database.
 * Invariants:
 * - No decrypted byte is returned before the tag of the text is verified. */
#include "lib/aead.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

bool aead_seal(const struct aead *a, const void *plain, size_t size, unsigned char *sealed)
{
	int n, end;
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	bool good = c && EVP_EncryptInit_ex(c, a->cipher, NULL, a->key, a->nonce) == 1 &&
		    EVP_EncryptUpdate(c, NULL, &n, a->aad, (int)a->aad_size) == 1 &&
		    EVP_EncryptUpdate(c, sealed, &n, plain, (int)size) == 1 && EVP_EncryptFinal_ex(c, sealed + size, &end) == 1 &&
		    (size_t)n + (size_t)end == size &&
		    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG, sealed + size) == 1;
	EVP_CIPHER_CTX_free(c);
	return good;
}

bool aead_open(const struct aead *a, const unsigned char *sealed, size_t size, unsigned char *plain)
{
	int n, end;
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	bool good = c && EVP_DecryptInit_ex(c, a->cipher, NULL, a->key, a->nonce) == 1 &&
		    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, AEAD_TAG, (void *)(sealed + size)) == 1 &&
		    EVP_DecryptUpdate(c, NULL, &n, a->aad, (int)a->aad_size) == 1 &&
		    EVP_DecryptUpdate(c, plain, &n, sealed, (int)size) == 1 && EVP_DecryptFinal_ex(c, plain + size, &end) == 1;
	EVP_CIPHER_CTX_free(c);
	if (!good)
		OPENSSL_cleanse(plain, size);
	return good;
}
