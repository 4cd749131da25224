/* box_test.c - boxes against published vectors of HPKE, and against keys, senders, contexts and bytes that are not those of the box. */
#include "tests/unit/unit.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include "lib/box_inside.h"
#include "lib/seal.h"

/* The keys are private keys in hex; sender NULL: mode base. */
struct vector {
	unsigned char aead;
	const char *ephemeral, *receiver, *sender, *enc, *sealed;
};

/* RFC 9180, A.1.1, A.1.3, A.2.1 and A.2.3, sequence number 0. Boxes of Rota have another cipher, with another number. */
static const struct vector vectors[] = {
	{1, "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
	 "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8", NULL,
	 "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
	 "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"},
	{1, "ff4442ef24fbc3c1ff86375b0be1e77e88a0de1e79b30896d73411c5ff4c3518",
	 "fdea67cf831f1ca98d8e27b1f6abeb5b7745e9d35348b80fa407ff6958f9137e",
	 "dc4a146313cce60a278a5323d321f051c5707e9c45ba21a3479fecdf76fc69dd",
	 "23fb952571a14a25e3d678140cd0e5eb47a0961bb18afcf85896e5453c312e76",
	 "5fd92cc9d46dbf8943e72a07e42f363ed5f721212cd90bcfd072bfd9f44e06b80fd17824947496e21b680c141b"},
	{3, "f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600",
	 "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb", NULL,
	 "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a",
	 "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28"},
	{3, "c94619e1af28971c8fa7957192b7e62a71ca2dcdde0a7cc4a8a9e741d600ab13",
	 "3ca22a6d1cda1bb9480949ec5329d3bf0b080ca4c45879c95eddb55c70b80b82",
	 "2def0cb58ffcf83d1062dd085c8aceca7f4c0c3fd05912d847b61f3e54121f05",
	 "f7674cc8cd7baa5872d1f33dbaffe3314239f6197ddf5ded1746760bfc847e0e",
	 "ab1a13c9d4f01a87ec3440dbd756e2677bd2ecf9df0ce7ed73869b98e00c09be111cb9fdf077347aeb88e61bdf"},
};

static const char info[] = "Ode on a Grecian Urn", aad[] = "Count-0", plain[] = "Beauty is truth, truth beauty";

enum { PLAIN = sizeof plain - 1, SEALED = PLAIN + BOX_OVERHEAD };

static struct box_key *key_of(const char *hex)
{
	unsigned char bytes[BOX_KEY];
	assert_true(seal_unhex(hex, bytes, sizeof bytes));
	return box_key_new(bytes);
}

static struct box_cipher cipher_of(unsigned char aead)
{
	static const struct box_cipher aes_128_gcm = {1, 16, EVP_aes_128_gcm}, chacha = {3, 32, EVP_chacha20_poly1305};
	return aead == 1 ? aes_128_gcm : chacha;
}

static void check_vector(const struct vector *v)
{
	struct box_cipher cipher = cipher_of(v->aead);
	struct box_parts parts = {&cipher, info, aad, strlen(aad)};
	struct box_key *ephemeral = key_of(v->ephemeral), *receiver = key_of(v->receiver),
		       *sender = v->sender ? key_of(v->sender) : NULL;
	unsigned char to[BOX_KEY], from[BOX_KEY], box[SEALED], back[PLAIN];
	char hex[2 * SEALED + 1];
	box_key_public(receiver, to);
	if (sender)
		box_key_public(sender, from);
	assert_true(box_seal_with(&parts, ephemeral, to, sender, plain, PLAIN, box));
	seal_hex(box, sizeof box, hex);
	assert_memory_equal(hex, v->enc, 2 * BOX_KEY);
	assert_string_equal(hex + 2 * BOX_KEY, v->sealed);
	assert_true(box_open_with(&parts, receiver, sender ? from : NULL, box, sizeof box, back));
	assert_memory_equal(back, plain, PLAIN);
	box_key_free(ephemeral);
	box_key_free(receiver);
	box_key_free(sender);
}

static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		check_vector(&vectors[i]);
}

/* Two parties and a stranger, and a box from one to the other. */
struct scene {
	struct box_key *mine, *sender, *stranger;
	unsigned char to[BOX_KEY], from[BOX_KEY], strangers[BOX_KEY];
	unsigned char *box;
	size_t size;
};

static struct scene scene_make(bool authenticated)
{
	struct scene s = {key_of(vectors[0].receiver), key_of(vectors[1].sender), key_of(vectors[2].receiver), .box = NULL};
	struct err e;
	box_key_public(s.mine, s.to);
	box_key_public(s.sender, s.from);
	box_key_public(s.stranger, s.strangers);
	assert_true(box_seal(s.to, authenticated ? s.sender : NULL, "context 1", plain, PLAIN, &s.box, &s.size, &e));
	assert_int_equal(s.size, SEALED);
	return s;
}

static void scene_free(struct scene *s)
{
	box_key_free(s->mine);
	box_key_free(s->sender);
	box_key_free(s->stranger);
	free(s->box);
}

static bool opens(const struct scene *s, const struct box_key *mine, const unsigned char *from, const char *context)
{
	struct err e = {.message = ""};
	unsigned char *back;
	size_t size;
	if (!box_open(mine, from, context, s->box, s->size, &back, &size, &e)) {
		assert_true(*e.message);
		return false;
	}
	assert_int_equal(size, PLAIN);
	assert_memory_equal(back, plain, PLAIN);
	assert_int_equal(back[size], 0);
	xfree_wiped(back, size);
	return true;
}

static void test_open(void **state)
{
	(void)state;
	struct scene s = scene_make(true);
	assert_true(opens(&s, s.mine, s.from, "context 1"));
	assert_false(opens(&s, s.stranger, s.from, "context 1"));
	assert_false(opens(&s, s.mine, s.strangers, "context 1"));
	assert_false(opens(&s, s.mine, NULL, "context 1"));
	assert_false(opens(&s, s.mine, s.from, "context 2"));
	assert_false(opens(&s, s.mine, s.from, ""));
	scene_free(&s);
	s = scene_make(false);
	assert_true(opens(&s, s.mine, NULL, "context 1"));
	assert_false(opens(&s, s.mine, s.from, "context 1"));
	scene_free(&s);
}

static void test_altered(void **state)
{
	(void)state;
	struct scene s = scene_make(true);
	for (size_t i = 0; i < s.size; i++) {
		/* X25519 ignores the top bit of a public key; the context of the shared secret contains it, so the box does not
		 * open. */
		s.box[i] ^= 0x80;
		assert_false(opens(&s, s.mine, s.from, "context 1"));
		s.box[i] ^= 0x80;
	}
	size_t whole = s.size;
	for (s.size = 0; s.size < whole; s.size++)
		assert_false(opens(&s, s.mine, s.from, "context 1"));
	assert_true(opens(&s, s.mine, s.from, "context 1"));
	memset(s.box, 0, BOX_KEY); /* a public key of low order */
	assert_false(opens(&s, s.mine, s.from, "context 1"));
	scene_free(&s);
}

static void test_low_order(void **state)
{
	(void)state;
	const unsigned char zeros[BOX_KEY] = {0};
	unsigned char *box;
	size_t size;
	struct err e;
	assert_false(box_seal(zeros, NULL, "", plain, PLAIN, &box, &size, &e));
	assert_non_null(strstr(e.message, "public key"));
}

/* No content, and the largest secret; two boxes of the same content differ. */
static void test_sizes(void **state)
{
	(void)state;
	static const size_t sizes[] = {0, 1, 1024 * 1024};
	struct box_key *mine = key_of(vectors[0].receiver);
	unsigned char to[BOX_KEY], *content = xcalloc(1, 1024 * 1024), *box, *other, *back;
	size_t size, other_size, back_size;
	struct err e;
	box_key_public(mine, to);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		assert_true(box_seal(to, NULL, "c", content, sizes[i], &box, &size, &e));
		assert_true(box_seal(to, NULL, "c", content, sizes[i], &other, &other_size, &e));
		assert_memory_not_equal(box, other, size);
		assert_true(box_open(mine, NULL, "c", box, size, &back, &back_size, &e));
		assert_int_equal(back_size, sizes[i]);
		assert_memory_equal(back, content, sizes[i]);
		xfree_wiped(back, back_size);
		free(box);
		free(other);
	}
	assert_false(box_seal(to, NULL, "c", content, BOX_CONTENT_LARGEST + 1UL, &box, &size, &e));
	free(content);
	box_key_free(mine);
}

static void pem_write(const char *path, const char *type, bool private, mode_t mode)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, type);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(private ? PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) : PEM_write_PUBKEY(file, key));
	fclose(file);
	EVP_PKEY_free(key);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_files(void **state)
{
	(void)state;
	struct err e;
	unsigned char public_key[BOX_KEY];
	pem_write(unit_path("key"), "X25519", true, 0400);
	struct box_key *key = box_key_read(unit_path("key"), &e);
	assert_non_null(key);
	box_key_free(key);
	assert_false(box_public_read(unit_path("key"), public_key, &e));
	pem_write(unit_path("pub"), "X25519", false, 0644);
	assert_true(box_public_read(unit_path("pub"), public_key, &e));
	assert_null(box_key_read(unit_path("none"), &e));
	pem_write(unit_path("loose"), "X25519", true, 0644);
	assert_null(box_key_read(unit_path("loose"), &e));
	assert_non_null(strstr(e.message, "accessible to all"));
	pem_write(unit_path("signs"), "ED25519", true, 0400);
	assert_null(box_key_read(unit_path("signs"), &e));
	assert_non_null(strstr(e.message, "no private X25519 key"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors), cmocka_unit_test(test_open),
		cmocka_unit_test(test_altered), cmocka_unit_test(test_low_order),
		cmocka_unit_test(test_sizes),	cmocka_unit_test_setup_teardown(test_files, unit_folder_make, unit_folder_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
