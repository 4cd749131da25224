/* box.c - seals and opens boxes by OpenSSL's X25519, HMAC and AEADs. The names of values are those of RFC 9180.
 *
 * Called by: rota-credd, which seals credentials for nodes; keepers, which open them.
 * Invariants:
 * - No error message has a private key, a shared secret or the content of a box. Their memory is wiped before it is freed.
 * - Each box has an ephemeral key of its own. So each key of the cipher encrypts one text, and one nonce is enough.
 * - No byte of a box's content is returned before its tag is verified (aead.c). */
#include "lib/box.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "lib/aead.h"
#include "lib/box_inside.h"
#include "lib/seal_pem.h"

_Static_assert((int)BOX_TAG == (int)AEAD_TAG, "a box ends with the tag of its cipher");

enum { HASH = 32, LABELED_LARGEST = 512, DH_MOST = 2 * BOX_KEY, CONTEXT_SIZE = 1 + 2 * HASH };
enum { MODE_BASE = 0, MODE_AUTH = 2 };
enum { KEM_ID = 0x20, KDF_ID = 1 };

static const char version[] = "HPKE-v1";

struct box_key {
	EVP_PKEY *key;
	unsigned char public_key[BOX_KEY];
};

/* Keys that a box is made with. Of the sender only the public half is a part of the shared secret's context. */
struct secret {
	unsigned char shared[HASH], key[HASH], nonce[AEAD_NONCE];
};

/* A suite_id of RFC 9180: that of the KEM, or that of the whole HPKE suite. */
struct suite {
	unsigned char bytes[10];
	size_t size;
};

static struct suite kem_suite(void)
{
	return (struct suite){{'K', 'E', 'M', 0, KEM_ID}, 5};
}

static struct suite whole_suite(const struct box_cipher *cipher)
{
	return (struct suite){{'H', 'P', 'K', 'E', 0, KEM_ID, 0, KDF_ID, 0, cipher->id}, 10};
}

/* Keys */

static struct box_key *key_wrap(EVP_PKEY *raw)
{
	struct box_key *key = xcalloc(1, sizeof *key);
	size_t size = BOX_KEY;
	if (EVP_PKEY_get_raw_public_key(raw, key->public_key, &size) != 1 || size != BOX_KEY)
		die("an X25519 key has no public half");
	key->key = raw;
	return key;
}

struct box_key *box_key_new(const unsigned char bytes[BOX_KEY])
{
	EVP_PKEY *raw = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, bytes, BOX_KEY);
	if (!raw)
		die("could not make an X25519 key");
	return key_wrap(raw);
}

static struct box_key *key_make_ephemeral(void)
{
	EVP_PKEY *raw = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
	if (!raw)
		die("could not make an X25519 key");
	return key_wrap(raw);
}

struct box_key *box_key_read(const char *path, struct err *e)
{
	EVP_PKEY *raw = seal_pem_load(path, true, "X25519", e);
	return raw ? key_wrap(raw) : NULL;
}

void box_key_free(struct box_key *key)
{
	if (key)
		EVP_PKEY_free(key->key); /* wipes the private key */
	free(key);
}

void box_key_public(const struct box_key *key, unsigned char public_key[BOX_KEY])
{
	memcpy(public_key, key->public_key, BOX_KEY);
}

bool box_public_read(const char *path, unsigned char public_key[BOX_KEY], struct err *e)
{
	EVP_PKEY *raw = seal_pem_load(path, false, "X25519", e);
	if (!raw)
		return false;
	struct box_key *key = key_wrap(raw);
	box_key_public(key, public_key);
	box_key_free(key);
	return true;
}

/* Derivation of keys */

static void box_hmac(const unsigned char key[HASH], const void *data, size_t size, unsigned char mac[HASH])
{
	size_t made = 0;
	if (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, HASH, data, size, mac, HASH, &made) || made != HASH)
		die("HMAC-SHA-256 failed");
}

static unsigned char *box_append(unsigned char *end, const void *bytes, size_t size)
{
	return size > 0 ? (unsigned char *)mempcpy(end, bytes, size) : end;
}

/* LabeledExtract. An empty salt is HASH zeros. */
static void box_extract(const struct suite *suite, const unsigned char salt[HASH], const char *label, const void *ikm,
			size_t size, unsigned char prk[HASH])
{
	size_t most = LABELED_LARGEST + size;
	unsigned char *labeled = xmalloc(most), *end = labeled;
	end = box_append(end, version, strlen(version));
	end = box_append(end, suite->bytes, suite->size);
	end = box_append(end, label, strlen(label));
	end = box_append(end, ikm, size);
	box_hmac(salt, labeled, (size_t)(end - labeled), prk);
	xfree_wiped(labeled, most);
}

/* LabeledExpand to at most HASH bytes, which is one block of HKDF-Expand. */
static void box_expand(const struct suite *suite, const unsigned char prk[HASH], const char *label, const void *info,
		       size_t info_size, unsigned char *out, size_t size)
{
	unsigned char labeled[LABELED_LARGEST], block[HASH], *end = labeled;
	end = box_append(end, (const unsigned char[]){0, (unsigned char)size}, 2);
	end = box_append(end, version, strlen(version));
	end = box_append(end, suite->bytes, suite->size);
	end = box_append(end, label, strlen(label));
	end = box_append(end, info, info_size);
	end = box_append(end, (const unsigned char[]){1}, 1);
	box_hmac(prk, labeled, (size_t)(end - labeled), block);
	memcpy(out, block, size);
	OPENSSL_cleanse(block, sizeof block);
}

/* DH of RFC 9180. Returns false if the public key has low order: everybody could then compute the result. */
static bool box_agree(const struct box_key *mine, const unsigned char theirs[BOX_KEY], unsigned char dh[BOX_KEY])
{
	size_t size = BOX_KEY;
	EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, theirs, BOX_KEY);
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(mine->key, NULL);
	if (!peer || !context || EVP_PKEY_derive_init(context) != 1)
		die("X25519 could not start");
	bool agreed = EVP_PKEY_derive_set_peer(context, peer) == 1 && EVP_PKEY_derive(context, dh, &size) == 1 && size == BOX_KEY;
	EVP_PKEY_CTX_free(context);
	EVP_PKEY_free(peer);
	return agreed;
}

/* ExtractAndExpand of the KEM. from: public key of the sender, NULL in mode base. */
static void box_share(const unsigned char *dh, const unsigned char enc[BOX_KEY], const unsigned char to[BOX_KEY],
		      const unsigned char *from, struct secret *s)
{
	static const unsigned char none[HASH];
	struct suite suite = kem_suite();
	unsigned char prk[HASH], context[3 * BOX_KEY], *end = context;
	end = box_append(end, enc, BOX_KEY);
	end = box_append(end, to, BOX_KEY);
	end = box_append(end, from, from ? BOX_KEY : 0);
	box_extract(&suite, none, "eae_prk", dh, from ? DH_MOST : BOX_KEY, prk);
	box_expand(&suite, prk, "shared_secret", context, (size_t)(end - context), s->shared, HASH);
	OPENSSL_cleanse(prk, sizeof prk);
}

/* KeySchedule without a pre-shared key. */
static void box_schedule(const struct box_parts *parts, bool authenticated, struct secret *s)
{
	static const unsigned char none[HASH];
	struct suite suite = whole_suite(parts->cipher);
	unsigned char context[CONTEXT_SIZE] = {authenticated ? MODE_AUTH : MODE_BASE}, prk[HASH];
	box_extract(&suite, none, "psk_id_hash", NULL, 0, context + 1);
	box_extract(&suite, none, "info_hash", parts->context, strlen(parts->context), context + 1 + HASH);
	box_extract(&suite, s->shared, "secret", NULL, 0, prk);
	box_expand(&suite, prk, "key", context, sizeof context, s->key, parts->cipher->key_size);
	box_expand(&suite, prk, "base_nonce", context, sizeof context, s->nonce, AEAD_NONCE);
	OPENSSL_cleanse(prk, sizeof prk);
}

/* Sealing */

static struct aead aead_of(const struct box_parts *parts, const struct secret *s)
{
	return (struct aead){parts->cipher->cipher(), s->key, s->nonce, parts->aad, parts->aad_size};
}

bool box_seal_with(const struct box_parts *parts, const struct box_key *ephemeral, const unsigned char to[BOX_KEY],
		   const struct box_key *from, const void *plain, size_t size, unsigned char *box)
{
	struct secret s;
	unsigned char dh[DH_MOST];
	bool good = box_agree(ephemeral, to, dh) && (!from || box_agree(from, to, dh + BOX_KEY));
	if (good) {
		memcpy(box, ephemeral->public_key, BOX_KEY);
		box_share(dh, box, to, from ? from->public_key : NULL, &s);
		box_schedule(parts, from != NULL, &s);
		struct aead a = aead_of(parts, &s);
		if (!aead_seal(&a, plain, size, box + BOX_KEY))
			die("encryption failed");
	}
	OPENSSL_cleanse(dh, sizeof dh);
	OPENSSL_cleanse(&s, sizeof s);
	return good;
}

bool box_open_with(const struct box_parts *parts, const struct box_key *mine, const unsigned char *from, const unsigned char *box,
		   size_t box_size, unsigned char *plain)
{
	struct secret s;
	unsigned char dh[DH_MOST];
	bool good = box_agree(mine, box, dh) && (!from || box_agree(mine, from, dh + BOX_KEY));
	if (good) {
		box_share(dh, box, mine->public_key, from, &s);
		box_schedule(parts, from != NULL, &s);
		struct aead a = aead_of(parts, &s);
		good = aead_open(&a, box + BOX_KEY, box_size - BOX_OVERHEAD, plain);
	}
	OPENSSL_cleanse(dh, sizeof dh);
	OPENSSL_cleanse(&s, sizeof s);
	return good;
}

static const struct box_cipher aes_256_gcm = {2, 32, EVP_aes_256_gcm};

bool box_seal(const unsigned char to[BOX_KEY], const struct box_key *from, const char *context, const void *plain, size_t size,
	      unsigned char **box, size_t *box_size, struct err *e)
{
	const struct box_parts parts = {&aes_256_gcm, context, "", 0};
	if (size > BOX_CONTENT_LARGEST)
		return err_set(e, "a box holds at most %d bytes", BOX_CONTENT_LARGEST);
	struct box_key *ephemeral = key_make_ephemeral();
	*box = xmalloc(size + BOX_OVERHEAD);
	*box_size = size + BOX_OVERHEAD;
	bool sealed = box_seal_with(&parts, ephemeral, to, from, plain, size, *box);
	box_key_free(ephemeral);
	if (sealed)
		return true;
	free(*box);
	return err_set(e, "the public key is not valid, so nothing can be sealed for it");
}

bool box_open(const struct box_key *mine, const unsigned char from[BOX_KEY], const char *context, const unsigned char *box,
	      size_t box_size, unsigned char **plain, size_t *size, struct err *e)
{
	const struct box_parts parts = {&aes_256_gcm, context, "", 0};
	if (box_size < BOX_OVERHEAD || box_size > (size_t)BOX_CONTENT_LARGEST + BOX_OVERHEAD)
		return err_set(e, "the box is cut off or too large");
	*size = box_size - BOX_OVERHEAD;
	*plain = xmalloc(*size + 1);
	(*plain)[*size] = '\0';
	if (box_open_with(&parts, mine, from, box, box_size, *plain))
		return true;
	xfree_wiped(*plain, *size);
	return err_set(e, "the box was sealed for another key, by another sender or for another purpose, or it was changed");
}
