/* keyring.c - reads and makes the keys of rota-credd, and seals credentials for the database.
 *
 * Called by: credd.c and the files that open and seal.
 * Invariants:
 * - A key never seals two secrets with one nonce: nonces are random, and a constraint of rota.credential refuses a nonce that was
 *   used before.
 * - A key is on disk before it seals its first secret, and rota-credd never removes it. */
#include "credmgr/keyring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/aead.h"
#include "lib/seal.h"

enum { RING_KEY = 32, RING_NUMBER_MOST = 1000000 };

_Static_assert((int)KEYRING_NONCE == (int)AEAD_NONCE, "a nonce of the database is one of the cipher");

struct ring_key {
	int number;
	unsigned char bytes[RING_KEY];
};

struct keyring {
	char *folder;
	struct box_key *box;
	struct ring_key *keys;
	int count;
};

void keyring_free(struct keyring *ring)
{
	if (!ring)
		return;
	box_key_free(ring->box);
	xfree_wiped(ring->keys, (size_t)ring->count * sizeof *ring->keys);
	free(ring->folder);
	free(ring);
}

static void ring_add(struct keyring *ring, const struct ring_key *key)
{
	struct ring_key *keys = xcalloc((size_t)ring->count + 1, sizeof *keys);
	if (ring->count)
		memcpy(keys, ring->keys, (size_t)ring->count * sizeof *keys);
	keys[ring->count] = *key;
	xfree_wiped(ring->keys, (size_t)ring->count * sizeof *keys);
	ring->keys = keys;
	ring->count++;
}

/* Read one file of 64 hex digits. */
static bool ring_read_key(struct keyring *ring, int number, struct err *e)
{
	struct ring_key key = {.number = number};
	char hex[2 * RING_KEY + 1] = "";
	char *path = xasprintf("%s/%d.key", ring->folder, number);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool good = fd >= 0 && fstat(fd, &st) == 0;
	if (!good)
		err_sys(e, "could not open the key \"%s\"", path);
	else if (!S_ISREG(st.st_mode) || (st.st_mode & 077) != 0)
		good = err_set(e, "the key \"%s\" is not a file that its account alone can read; chmod 0600", path);
	else if (read(fd, hex, 2 * RING_KEY) != 2 * RING_KEY || !seal_unhex(hex, key.bytes, RING_KEY))
		good = err_set(e, "the key \"%s\" is not %d hex digits", path, 2 * RING_KEY);
	if (good)
		ring_add(ring, &key);
	if (fd >= 0)
		close(fd);
	OPENSSL_cleanse(hex, sizeof hex);
	OPENSSL_cleanse(&key, sizeof key);
	free(path);
	return good;
}

/* Returns the number in the name of a key's file, such as "12.key"; 0 for any other name. */
static int ring_number(const char *name)
{
	size_t digits = strspn(name, "0123456789");
	long number = digits > 0 && digits < 8 && *name != '0' && strcmp(name + digits, ".key") == 0 ? strtol(name, NULL, 10) : 0;
	return number <= RING_NUMBER_MOST ? (int)number : 0;
}

static bool ring_read_folder(struct keyring *ring, struct err *e)
{
	DIR *folder = opendir(ring->folder);
	bool good = folder != NULL;
	if (!good)
		return err_sys(e, "could not read the folder of keys \"%s\"", ring->folder);
	for (struct dirent *entry; good && (entry = readdir(folder));) {
		int number = ring_number(entry->d_name);
		good = number == 0 || ring_read_key(ring, number, e);
	}
	closedir(folder);
	if (good && ring->count == 0) {
		err_set(e, "the folder \"%s\" has no key 1.key", ring->folder);
		return err_hint(e, "Make one: openssl rand -hex 32 >%s/1.key", ring->folder);
	}
	return good;
}

struct keyring *keyring_open(const char *folder, struct err *e)
{
	struct keyring *ring = xcalloc(1, sizeof *ring);
	char *path = xasprintf("%s/cred.key", folder);
	ring->folder = xstrdup(folder);
	ring->box = box_key_read(path, e);
	free(path);
	if (ring->box && ring_read_folder(ring, e))
		return ring;
	keyring_free(ring);
	return NULL;
}

static const struct ring_key *ring_find(const struct keyring *ring, int number)
{
	for (int i = 0; i < ring->count; i++)
		if (ring->keys[i].number == number)
			return &ring->keys[i];
	return NULL;
}

int keyring_newest(const struct keyring *ring)
{
	int newest = 0;
	for (int i = 0; i < ring->count; i++)
		newest = ring->keys[i].number > newest ? ring->keys[i].number : newest;
	return newest;
}

const struct box_key *keyring_box(const struct keyring *ring)
{
	return ring->box;
}

/* Write the folder of keys to disk (fsync), so that a new file is not lost. */
static bool ring_sync(const struct keyring *ring, struct err *e)
{
	int folder = open(ring->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = folder >= 0 && fsync(folder) == 0;
	if (!good)
		err_sys(e, "could not write the folder of keys \"%s\"", ring->folder);
	if (folder >= 0)
		close(folder);
	return good;
}

bool keyring_next(struct keyring *ring, struct err *e)
{
	int number = keyring_newest(ring) + 1;
	char *path = xasprintf("%s/%d.key", ring->folder, number);
	bool good = seal_secret_make(path, e) && ring_sync(ring, e) && ring_read_key(ring, number, e);
	free(path);
	return good;
}

static struct aead ring_aead(const struct ring_key *key, const unsigned char *nonce, const char *context)
{
	return (struct aead){EVP_aes_256_gcm(), key->bytes, nonce, context, strlen(context)};
}

bool keyring_seal(const struct keyring *ring, const char *context, const void *plain, size_t size,
		  unsigned char nonce[KEYRING_NONCE], unsigned char **sealed, size_t *sealed_size, struct err *e)
{
	const struct ring_key *key = ring_find(ring, keyring_newest(ring));
	unsigned char *out = xcalloc(1, size + AEAD_TAG);
	struct aead a = ring_aead(key, nonce, context);
	if (RAND_bytes(nonce, KEYRING_NONCE) != 1 || !aead_seal(&a, plain, size, out)) {
		free(out);
		return err_set(e, "OpenSSL could not seal a credential");
	}
	*sealed = out;
	*sealed_size = size + AEAD_TAG;
	return true;
}

bool keyring_unseal(const struct keyring *ring, int number, const char *context, const unsigned char nonce[KEYRING_NONCE],
		    const unsigned char *sealed, size_t sealed_size, unsigned char **plain, size_t *size, struct err *e)
{
	const struct ring_key *key = ring_find(ring, number);
	if (!key)
		return err_set(e, "there is no key %d.key in the folder of keys", number);
	if (sealed_size < AEAD_TAG)
		return err_set(e, "a credential is shorter than its tag");
	size_t length = sealed_size - AEAD_TAG;
	unsigned char *out = xcalloc(1, length + 1);
	struct aead a = ring_aead(key, nonce, context);
	if (!aead_open(&a, sealed, length, out)) {
		free(out);
		return err_set(e, "a credential does not fit its key, its owner, its name or its version");
	}
	*plain = out;
	*size = length;
	return true;
}
