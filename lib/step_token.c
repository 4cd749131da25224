/* step_token.c - writes, signs, verifies and parses tokens for step managers (step_token.h).
 *
 * Called by: gate_token.c, which writes them; substep_remote.c, which verifies them.
 * Invariants:
 * - The signed bytes of a token begin with the byte TOKEN, those of launch requests with another byte (lib/seal_tree.c). So
 *   neither can be taken for the other.
 * - No field of a token is parsed before the signature is verified. */
#include "lib/step_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/fields.h"

enum { TOKEN = 3, TEXT_LONGEST = (STEP_TOKEN_LONGEST - 2 * SEAL_SIGNATURE_SIZE) / 2 };

void step_token_make_nonce(struct step_token *token)
{
	unsigned char bytes[STEP_TOKEN_NONCE_BYTES];
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		die("could not get random bytes: %m");
	seal_hex(bytes, sizeof bytes, token->nonce);
}

char *step_token_write(const struct seal_sign_key *key, const struct step_token *token)
{
	struct fields *f = fields_new();
	unsigned char signature[SEAL_SIGNATURE_SIZE];
	size_t size;
	fields_add_int(f, "job", token->job_id);
	fields_add_int(f, "step", token->step_id);
	fields_add_int(f, "attempt", token->attempt);
	fields_add_int(f, "uid", token->uid);
	fields_add(f, "node", token->node);
	fields_add(f, "fingerprint", token->fingerprint);
	fields_add_int(f, "expires", token->expires_at);
	fields_add(f, "nonce", token->nonce);
	const char *text = fields_text(f, &size);
	char *bytes = xmalloc(size + 1), *hex = xmalloc(2 * (size + sizeof signature) + 1);
	*bytes = TOKEN;
	memcpy(bytes + 1, text, size);
	seal_sign(key, bytes, size + 1, signature);
	seal_hex(signature, sizeof signature, hex);
	seal_hex(text, size, hex + 2 * sizeof signature);
	fields_free(f);
	free(bytes);
	return hex;
}

static bool is_hex(const char *text, size_t digits)
{
	return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

static bool token_parse(const struct fields *f, struct step_token *token, struct err *e)
{
	const char *node = fields_get(f, "node"), *fingerprint = fields_get(f, "fingerprint"), *nonce = fields_get(f, "nonce");
	int64_t step, attempt, uid;
	if (!fields_int(f, "job", 1, INT64_MAX, &token->job_id, e) || !fields_int(f, "step", 0, INT32_MAX, &step, e) ||
	    !fields_int(f, "attempt", 1, INT32_MAX, &attempt, e) || !fields_int(f, "uid", 0, UINT32_MAX, &uid, e) ||
	    !fields_int(f, "expires", 0, INT64_MAX, &token->expires_at, e))
		return false;
	if (!node || strlen(node) >= sizeof token->node || !fingerprint || !is_hex(fingerprint, SEAL_HEX_SIZE - 1) || !nonce ||
	    !is_hex(nonce, STEP_TOKEN_NONCE_SIZE - 1))
		return err_set(e, "the token has no valid node, fingerprint and nonce");
	token->step_id = (int)step;
	token->attempt = (int)attempt;
	token->uid = (uid_t)uid;
	strcpy(token->node, node);
	strcpy(token->fingerprint, fingerprint);
	strcpy(token->nonce, nonce);
	return true;
}

bool step_token_read(const struct seal_verify_key *key, const char *text, size_t size, struct step_token *token, struct err *e)
{
	char hex[STEP_TOKEN_LONGEST + 1], bytes[1 + TEXT_LONGEST] = {TOKEN};
	unsigned char signature[SEAL_SIGNATURE_SIZE];
	size_t digits = 2 * sizeof signature, length = size > digits ? (size - digits) / 2 : 0;
	if (length == 0 || size > STEP_TOKEN_LONGEST || memchr(text, '\0', size))
		return err_set(e, "the token is malformed");
	memcpy(hex, text, size);
	hex[size] = '\0';
	bool well_formed = seal_unhex(hex + digits, bytes + 1, length);
	hex[digits] = '\0';
	if (!well_formed || !seal_unhex(hex, signature, sizeof signature))
		return err_set(e, "the token is malformed");
	if (!seal_verify(key, bytes, length + 1, signature))
		return err_set(e, "the signature of the token is not valid");
	struct fields *f = fields_parse(bytes + 1, length, e);
	bool parsed = f && token_parse(f, token, e);
	fields_free(f);
	return parsed;
}
