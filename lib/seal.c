/* seal.c - authenticators, signatures and key files, with OpenSSL.
 *
 * Called by: jobmgrd (signs launch requests, makes and verifies authenticators), the launcher (verifies launch requests), `rota
 * up` (makes keys).
 * Invariants:
 * - A key file is written whole or not at all, and never overwritten.
 * - No message has key material. Secrets are wiped before they are freed.
 * - A failure of OpenSSL itself ends the process. */
#include "lib/seal.h"
#include "lib/file.h"
#include "lib/seal_pem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

enum { MAC_KEY_SIZE = 32 };

/* An HMAC key. It is set up once, because finding the algorithm and loading the key take longer than the MAC of a step. Only one
 * thread at a time may use it. */
struct seal_mac_key {
	EVP_MAC_CTX *context;
};

struct seal_sign_key {
	EVP_PKEY *key;
};

struct seal_verify_key {
	EVP_PKEY *key;
};

/* key files */

/* Write a new file at PATH: write a temporary file and link it, so that an existing file is kept and a half-written file is never
 * seen. */
static bool file_put(const char *path, const char *text, size_t size, mode_t mode, struct err *e)
{
	char *beside = xasprintf("%s.%ld", path, (long)getpid());
	bool ok = false;
	unlink(beside);
	int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		err_sys(e, "could not create \"%s\"", beside);
	else if (!file_write_all(fd, text, size) || fsync(fd) != 0 || fchmod(fd, mode) < 0)
		err_sys(e, "could not write \"%s\"", beside);
	else if (link(beside, path) < 0 && errno != EEXIST)
		err_sys(e, "could not create \"%s\"", path);
	else
		ok = true;
	if (fd >= 0) {
		close(fd);
		unlink(beside);
	}
	free(beside);
	return ok;
}

/* Open a key file. The file of a private key is refused if everybody has access to it. */
static FILE *key_open(const char *path, bool private, struct err *e)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	if (!file || fstat(fileno(file), &st) < 0) {
		err_sys(e, "could not open key file \"%s\"", path);
		if (e)
			strcpy(e->code, SEAL_UNREADABLE);
		goto fail;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(e, "key file \"%s\" is no regular file", path);
		goto fail;
	}
	if (private && (st.st_mode & S_IRWXO)) {
		err_set(e, "key file \"%s\" is accessible to all users", path);
		err_hint(e, "give it to the account of the daemons alone: chmod 0600");
		goto fail;
	}
	return file;
fail:
	if (file)
		fclose(file);
	return NULL;
}

bool seal_secret_make(const char *path, struct err *e)
{
	unsigned char bytes[32];
	char hex[2 * sizeof bytes + 2];
	if (access(path, F_OK) == 0)
		return true;
	if (RAND_priv_bytes(bytes, sizeof bytes) != 1)
		return err_set(e, "no random bytes for key file \"%s\"", path);
	seal_hex(bytes, sizeof bytes, hex);
	strcat(hex, "\n");
	bool ok = file_put(path, hex, strlen(hex), 0600, e);
	OPENSSL_cleanse(bytes, sizeof bytes);
	OPENSSL_cleanse(hex, sizeof hex);
	return ok;
}

/* Write the private or the public half of `key` as PEM to a new file. */
static bool pem_put(const char *path, EVP_PKEY *key, bool private, struct err *e)
{
	BIO *bio = BIO_new(BIO_s_secmem());
	char *text;
	bool ok =
		bio && (private ? PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) : PEM_write_bio_PUBKEY(bio, key));
	if (!ok)
		die("could not write a key as PEM");
	long size = BIO_get_mem_data(bio, &text);
	ok = file_put(path, text, (size_t)size, private ? 0600 : 0644, e);
	BIO_free(bio);
	return ok;
}

/* Write a new private key of the type that OpenSSL calls `type`, unless the file exists. */
static bool key_make(const char *path, const char *type, struct err *e)
{
	EVP_PKEY *key = access(path, F_OK) == 0 ? NULL : EVP_PKEY_Q_keygen(NULL, NULL, type);
	if (access(path, F_OK) == 0)
		return true;
	if (!key)
		return err_set(e, "could not make the key for \"%s\"", path);
	bool ok = pem_put(path, key, true, e);
	EVP_PKEY_free(key);
	return ok;
}

/* Write the file of the public key if it is absent. Returns false if the public key in the file does not belong to the private
 * key. */
static bool sign_pub_make(const char *key_path, const char *pub_path, struct err *e)
{
	struct seal_sign_key *sign = seal_sign_key_load(key_path, e);
	if (!sign)
		return false;
	bool ok = pem_put(pub_path, sign->key, false, e);
	struct seal_verify_key *verify = ok ? seal_verify_key_load(pub_path, e) : NULL;
	ok = verify != NULL;
	if (ok && EVP_PKEY_eq(sign->key, verify->key) != 1) {
		ok = err_set(e, "\"%s\" is not the public half of \"%s\"", pub_path, key_path);
		err_hint(e, "remove the file of the public key; \"rota up\" then makes it again");
	}
	seal_verify_key_free(verify);
	seal_sign_key_free(sign);
	return ok;
}

bool seal_keys_make(const char *dir, struct err *e)
{
	char *auth = xasprintf("%s/auth.key", dir), *key = xasprintf("%s/sign.key", dir), *pub = xasprintf("%s/sign.pub", dir);
	bool ok = seal_secret_make(auth, e) && key_make(key, "ED25519", e) && sign_pub_make(key, pub, e);
	free(auth);
	free(key);
	free(pub);
	return ok;
}

bool seal_box_keys_make(const char *key, const char *pub, struct err *e)
{
	EVP_PKEY *pair = key_make(key, "X25519", e) ? seal_pem_load(key, true, "X25519", e) : NULL;
	bool ok = pair && pem_put(pub, pair, false, e);
	EVP_PKEY_free(pair);
	return ok;
}

/* authenticators */

static struct seal_mac_key *mac_key_new(const unsigned char bytes[MAC_KEY_SIZE])
{
	const OSSL_PARAM digest[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){"SHA256"}, 0),
				     OSSL_PARAM_construct_end()};
	struct seal_mac_key *key = xcalloc(1, sizeof *key);
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	key->context = mac ? EVP_MAC_CTX_new(mac) : NULL;
	EVP_MAC_free(mac); /* the EVP_MAC_CTX keeps a reference to the EVP_MAC */
	if (!key->context || !EVP_MAC_init(key->context, bytes, MAC_KEY_SIZE, digest))
		die("HMAC-SHA-256 failed");
	return key;
}

struct seal_mac_key *seal_mac_key_load(const char *path, struct err *e)
{
	FILE *file = key_open(path, true, e);
	if (!file)
		return NULL;
	unsigned char bytes[MAC_KEY_SIZE];
	char text[2 * sizeof bytes + 2]; /* 64 digits, a newline, NUL */
	setvbuf(file, NULL, _IONBF, 0);	 /* keep the key out of the buffer of stdio */
	size_t size = fread(text, 1, sizeof text, file);
	fclose(file);
	bool ok = size < sizeof text;
	if (ok) {
		text[size] = '\0';
		text[strcspn(text, "\n")] = '\0';
		ok = seal_unhex(text, bytes, sizeof bytes);
	}
	struct seal_mac_key *key = ok ? mac_key_new(bytes) : NULL;
	OPENSSL_cleanse(text, sizeof text);
	OPENSSL_cleanse(bytes, sizeof bytes);
	if (key)
		return key;
	err_set(e, "key file \"%s\" does not hold 64 hex digits", path);
	return NULL;
}

void seal_mac_key_free(struct seal_mac_key *key)
{
	if (key)
		EVP_MAC_CTX_free(key->context); /* wipes the key */
	free(key);
}

void seal_mac(const struct seal_mac_key *key, const void *data, size_t size, unsigned char mac[SEAL_MAC_SIZE])
{
	size_t made;
	if (!EVP_MAC_init(key->context, NULL, 0, NULL) || !EVP_MAC_update(key->context, data, size) ||
	    !EVP_MAC_final(key->context, mac, &made, SEAL_MAC_SIZE) || made != SEAL_MAC_SIZE)
		die("HMAC-SHA-256 failed");
}

bool seal_mac_check(const struct seal_mac_key *key, const void *data, size_t size, const unsigned char mac[SEAL_MAC_SIZE])
{
	unsigned char right[SEAL_MAC_SIZE];
	seal_mac(key, data, size, right);
	return CRYPTO_memcmp(right, mac, sizeof right) == 0;
}

/* signatures */

EVP_PKEY *seal_pem_load(const char *path, bool private, const char *type, struct err *e)
{
	FILE *file = key_open(path, private, e);
	if (!file)
		return NULL;
	setvbuf(file, NULL, _IONBF, 0); /* keep the key out of the buffer of stdio */
	/* Give an empty passphrase, so that OpenSSL does not ask for one on the terminal. */
	EVP_PKEY *key = private ? PEM_read_PrivateKey(file, NULL, NULL, "") : PEM_read_PUBKEY(file, NULL, NULL, "");
	fclose(file);
	if (key && EVP_PKEY_is_a(key, type))
		return key;
	EVP_PKEY_free(key);
	err_set(e, "key file \"%s\" holds no %s %s key", path, private ? "private" : "public", type);
	return NULL;
}

static EVP_PKEY *ed25519_load(const char *path, bool private, struct err *e)
{
	return seal_pem_load(path, private, "ED25519", e);
}

struct seal_sign_key *seal_sign_key_load(const char *path, struct err *e)
{
	EVP_PKEY *key = ed25519_load(path, true, e);
	if (!key)
		return NULL;
	struct seal_sign_key *sign = xmalloc(sizeof *sign);
	sign->key = key;
	return sign;
}

void seal_sign_key_free(struct seal_sign_key *key)
{
	if (key)
		EVP_PKEY_free(key->key);
	free(key);
}

void seal_sign(const struct seal_sign_key *key, const void *data, size_t size, unsigned char signature[SEAL_SIGNATURE_SIZE])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t made = SEAL_SIGNATURE_SIZE;
	if (!context || EVP_DigestSignInit(context, NULL, NULL, NULL, key->key) != 1 ||
	    EVP_DigestSign(context, signature, &made, data, size) != 1 || made != SEAL_SIGNATURE_SIZE)
		die("Ed25519 signing failed");
	EVP_MD_CTX_free(context);
}

struct seal_verify_key *seal_verify_key_load(const char *path, struct err *e)
{
	EVP_PKEY *key = ed25519_load(path, false, e);
	if (!key)
		return NULL;
	struct seal_verify_key *verify = xmalloc(sizeof *verify);
	verify->key = key;
	return verify;
}

void seal_verify_key_free(struct seal_verify_key *key)
{
	if (key)
		EVP_PKEY_free(key->key);
	free(key);
}

bool seal_verify(const struct seal_verify_key *key, const void *data, size_t size,
		 const unsigned char signature[SEAL_SIGNATURE_SIZE])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	if (!context || EVP_DigestVerifyInit(context, NULL, NULL, NULL, key->key) != 1)
		die("Ed25519 verification could not start");
	bool good = EVP_DigestVerify(context, signature, SEAL_SIGNATURE_SIZE, data, size) == 1;
	EVP_MD_CTX_free(context);
	return good;
}
