/* sign.h - the authenticator of a step: with it jobmgrd verifies that the owner submitted the step as it is stored. */
#ifndef ROTA_SIGN_H
#define ROTA_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/seal.h"

/* One step of a user's job, for its authenticator. The HTTP API makes the authenticator at submission; the leader checks it
 * before launch. */
struct sign_subject {
	uid_t uid;
	gid_t gid;
	const char *user;
	const char *script_hash;      /* SHA-256 of the script, in hex */
	const char *environment_hash; /* SHA-256 of the environment, in hex */
	const char *spec;	      /* fields of a struct order_spec, as text */
	int64_t number;		      /* number of the job; 0: the authenticator is of a version that did not cover the number */
};

/* Make the authenticator of a step: HMAC-SHA-256, in hex, over the fields uid, gid, user, script, environment, spec and, unless it
 * is 0, job, in this order. */
void sign_authenticator(const struct seal_mac_key *key, const struct sign_subject *subject, char hex[SEAL_HEX_SIZE]);

/* Is `hex` the authenticator of `subject`? Compares in constant time. */
bool sign_authenticator_check(const struct seal_mac_key *key, const struct sign_subject *subject, const char *hex);

#endif
