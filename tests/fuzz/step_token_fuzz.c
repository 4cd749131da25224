/* step_token_fuzz.c - libFuzzer on what a step manager reads of a client that has not proven anything: its token. A token of the input
 * alone is never valid. The same bytes, signed, are parsed or refused. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/step_token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct seal_sign_key *sign;
static struct seal_verify_key *verify;

static void make_keys(void)
{
	char folder[] = "/tmp/step_token_fuzz.XXXXXX", path[64];
	struct err e;
	if (!mkdtemp(folder) || !seal_keys_make(folder, &e))
		abort();
	snprintf(path, sizeof path, "%s/sign.key", folder);
	sign = seal_sign_key_load(path, &e);
	unlink(path);
	snprintf(path, sizeof path, "%s/sign.pub", folder);
	verify = seal_verify_key_load(path, &e);
	unlink(path);
	snprintf(path, sizeof path, "%s/auth.key", folder);
	unlink(path);
	rmdir(folder);
	if (!sign || !verify)
		abort();
}

/* Sign the bytes as jobmgrd signs the fields of a token. */
static void read_signed(const uint8_t *data, size_t size)
{
	enum { TOKEN = 3 };
	unsigned char signature[SEAL_SIGNATURE_SIZE], *bytes = xmalloc(size + 1);
	char *text = xmalloc(2 * (size + sizeof signature) + 1);
	struct step_token token;
	struct err e;
	*bytes = TOKEN;
	memcpy(bytes + 1, data, size);
	seal_sign(sign, bytes, size + 1, signature);
	seal_hex(signature, sizeof signature, text);
	seal_hex(data, size, text + 2 * sizeof signature);
	if (step_token_read(verify, text, strlen(text), &token, &e) &&
	    (token.job_id < 1 || strlen(token.nonce) != STEP_TOKEN_NONCE_SIZE - 1))
		abort();
	free(text);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct step_token token;
	struct err e;
	if (!sign)
		make_keys();
	if (step_token_read(verify, (const char *)data, size, &token, &e))
		abort();
	read_signed(data, size);
	return 0;
}
