/* auth.c - munge credentials whose payload is a hash of one request.
 *
 * Called by: clients (http.c) to encode, jobmgrd to decode.
 * Invariants:
 * - The user is known from the credential alone.
 * - A credential is valid once (munged has the replay cache), and only for the method, target and body that it was made for. */
#include "lib/auth.h"

#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/seal.h"

static const char payload_head[] = "rota1:";

enum { PAYLOAD_SIZE = sizeof payload_head - 1 + SEAL_HEX_SIZE - 1 };

/* Write the payload of a credential: "rota1:" and the hex SHA-256 of "METHOD TARGET\n" + body. PAYLOAD_SIZE does not count the
 * NUL. */
static void auth_payload(const char *method, const char *target, const void *body, size_t size, char payload[PAYLOAD_SIZE + 1])
{
	unsigned char hash[SEAL_HASH_SIZE];
	struct seal_hash h;
	seal_hash_begin(&h);
	seal_hash_add(&h, method, strlen(method));
	seal_hash_add(&h, " ", 1);
	seal_hash_add(&h, target, strlen(target));
	seal_hash_add(&h, "\n", 1);
	seal_hash_add(&h, body, size);
	seal_hash_end(&h, hash);
	memcpy(payload, payload_head, sizeof payload_head - 1);
	seal_hex(hash, sizeof hash, payload + sizeof payload_head - 1);
}

static munge_ctx_t auth_context(const char *socket)
{
	munge_ctx_t context = munge_ctx_create();
	if (!context || munge_ctx_set(context, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS)
		die("no munge context for socket \"%s\"", socket);
	return context;
}

/* Set the error for a failure of munge, with advice to the user. */
static bool auth_fail(munge_ctx_t context, munge_err_t code, const char *socket, struct err *e)
{
	switch (code) {
	case EMUNGE_CRED_EXPIRED:
		err_set(e, "the credential has expired");
		return err_hint(e, "send the request again, and compare the clocks of both machines");
	case EMUNGE_CRED_REWOUND:
		err_set(e, "the credential comes from the future");
		return err_hint(e, "compare the clocks of both machines");
	case EMUNGE_CRED_REPLAYED:
		err_set(e, "the credential has been used before");
		return err_hint(e, "make a new credential for each request");
	case EMUNGE_CRED_INVALID:
		err_set(e, "the credential was not made with this instance's munge key");
		return err_hint(e, "munge.key must be the same on both machines");
	case EMUNGE_SOCKET:
		err_set(e, "could not reach munged at \"%s\"", socket);
		strcpy(e->code, "08001");
		return err_hint(e, "start it, or set \"socket\" in section \"munge\" of rota.conf");
	default:
		break;
	}
	const char *text = munge_ctx_strerror(context);
	return err_set(e, "munge: %s", text ? text : munge_strerror(code));
}

char *auth_encode(const char *socket, const char *method, const char *target, const void *body, size_t size, struct err *e)
{
	char payload[PAYLOAD_SIZE + 1];
	char *credential = NULL;
	munge_ctx_t context = auth_context(socket);
	auth_payload(method, target, body, size, payload);
	/* Do not encrypt the payload: it is no secret, and encryption takes a third of the time of a credential. */
	munge_ctx_set(context, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_NONE);
	munge_err_t code = munge_encode(&credential, context, payload, PAYLOAD_SIZE);
	if (code != EMUNGE_SUCCESS) {
		auth_fail(context, code, socket, e);
		free(credential);
		credential = NULL;
	}
	munge_ctx_destroy(context);
	return credential;
}

bool auth_decode(const char *socket, const char *credential, const char *method, const char *target, const void *body,
		 size_t size, uid_t *uid, gid_t *gid, struct err *e)
{
	char payload[PAYLOAD_SIZE + 1];
	void *covered = NULL;
	int covered_size = 0;
	uid_t who = (uid_t)-1;
	gid_t group = (gid_t)-1;
	munge_ctx_t context = auth_context(socket);
	munge_err_t code = munge_decode(credential, context, &covered, &covered_size, &who, &group);
	bool ok = code == EMUNGE_SUCCESS;
	auth_payload(method, target, body, size, payload);
	if (!ok)
		auth_fail(context, code, socket, e);
	else if (covered_size != PAYLOAD_SIZE || memcmp(covered, payload, PAYLOAD_SIZE) != 0) {
		ok = err_set(e, "the credential covers another request");
		err_hint(e, "it must be made over \"METHOD TARGET\\n\" and the very body that is sent");
	} else {
		*uid = who;
		*gid = group;
	}
	free(covered);
	munge_ctx_destroy(context);
	return ok;
}
