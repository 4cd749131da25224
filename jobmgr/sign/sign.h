/* sign.h - the authenticator of a step: with it jobmgrd verifies that the owner asked for it. */
#ifndef ROTA_SIGN_H
#define ROTA_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/seal.h"

/* One step of one user's job. The HTTP API makes its authenticator at submission; the leader checks it before launch. */
struct sign_subject {
	uid_t uid;
	gid_t gid;
	const char *user;
	const char *script_hash;      /* SHA-256, hex */
	const char *environment_hash; /* SHA-256, hex */
	const char *spec;	      /* the fields of an order_spec */
};

/* HMAC-SHA-256, in hex, over the fields uid, gid, user, script, environment, spec in this order. */
void sign_authenticator(const struct seal_mac_key *key, const struct sign_subject *subject, char hex[SEAL_HEX_SIZE]);

/* Is `hex` the authenticator of `subject`? Compares in constant time. */
bool sign_authenticator_check(const struct seal_mac_key *key, const struct sign_subject *subject, const char *hex);

#endif
