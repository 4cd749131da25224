/* step_token.h - tokens by which the owner of a running step connects to its step manager from another machine.
 *
 * jobmgrd signs a token with the key of launch requests, and the step manager verifies it. docs/step-protocol.md has the format. */
#ifndef ROTA_STEP_TOKEN_H
#define ROTA_STEP_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/seal.h"

enum {
	STEP_TOKEN_LIFETIME_S = 60,
	STEP_TOKEN_LONGEST = 2048, /* characters of a token */
	STEP_TOKEN_NONCE_BYTES = 16,
	STEP_TOKEN_NONCE_SIZE = 2 * STEP_TOKEN_NONCE_BYTES + 1,
	STEP_TOKEN_NODE_SIZE = 256
};

struct step_token {
	int64_t job_id;
	int step_id, attempt;
	uid_t uid;
	char node[STEP_TOKEN_NODE_SIZE];   /* first node of the attempt */
	char fingerprint[SEAL_HEX_SIZE];   /* SHA-256 of the certificate of the step manager, hex */
	int64_t expires_at;		   /* Unix time */
	char nonce[STEP_TOKEN_NONCE_SIZE]; /* hex */
};

/* Fill in `nonce` with random digits. */
void step_token_make_nonce(struct step_token *token);

/* Returns the signed token as printable characters without blanks, malloc'ed. */
char *step_token_write(const struct seal_sign_key *key, const struct step_token *token);

/* Verify the signature of a token of `size` characters and parse the token. The caller must compare the members of `token` with
 * its own attempt, user and node. */
bool step_token_read(const struct seal_verify_key *key, const char *text, size_t size, struct step_token *token, struct err *e);

#endif
