/* sign.h - what makes a step worth an order: the authenticator of its owner. */
#ifndef ROTA_SIGN_H
#define ROTA_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/seal.h"

/* What one step of one user's job runs. The gate vouches for it when it is submitted, the leader asks before it is launched. */
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

/* Whether `hex` is the authenticator of `subject`; compares in constant time. */
bool sign_authenticator_check(const struct seal_mac_key *key, const struct sign_subject *subject, const char *hex);

#endif
