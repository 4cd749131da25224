/* auth.c - munge credentials whose payload is a hash of one request and the name of the server.
 *
 * Called by: clients (http.c) to encode, jobmgrd to decode.
 * Invariants:
 * - The user is known from the credential alone.
 * - A credential is valid once (munged has the replay cache), and only for the server, method, target and body that it was made
 *   for. */
#include "lib/auth.h"

#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/seal.h"

static const char payload_head[] = "rota2:";

/* Returns the malloc'ed payload of a credential: "rota2:", the hex SHA-256 of "METHOD TARGET\n" + body, " ", and the server. */
static char *auth_payload(const struct auth_request *request, const char *server)
{
	unsigned char hash[SEAL_HASH_SIZE];
	char hex[SEAL_HEX_SIZE];
	struct seal_hash h;
	seal_hash_begin(&h);
	seal_hash_add(&h, request->method, strlen(request->method));
	seal_hash_add(&h, " ", 1);
	seal_hash_add(&h, request->target, strlen(request->target));
	seal_hash_add(&h, "\n", 1);
	seal_hash_add(&h, request->body, request->size);
	seal_hash_end(&h, hash);
	seal_hex(hash, sizeof hash, hex);
	return xasprintf("%s%s %s", payload_head, hex, server);
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

char *auth_encode(const char *socket, const char *server, const struct auth_request *request, struct err *e)
{
	char *credential = NULL, *payload = auth_payload(request, server);
	munge_ctx_t context = auth_context(socket);
	/* Do not encrypt the payload: it is no secret, and encryption takes a third of the time of a credential. */
	munge_ctx_set(context, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_NONE);
	munge_err_t code = munge_encode(&credential, context, payload, (int)strlen(payload));
	if (code != EMUNGE_SUCCESS) {
		auth_fail(context, code, socket, e);
		free(credential);
		credential = NULL;
	}
	munge_ctx_destroy(context);
	free(payload);
	return credential;
}

static bool auth_is_named(const char *server, const char *const *servers)
{
	for (; *servers; servers++)
		if (strcasecmp(server, *servers) == 0)
			return true;
	return false;
}

/* Verify that the payload of a valid credential names one of `servers` and covers the request. The request is hashed last, for
 * it may be large. */
static bool auth_check_payload(const char *payload, const char *const *servers, const struct auth_request *request, struct err *e)
{
	const char *server = strchr(payload, ' ');
	if (strncmp(payload, payload_head, sizeof payload_head - 1) != 0 || !server) {
		err_set(e, "the munge credential was not made for this version of Rota");
		return err_hint(e, "make it with \"rota token\" of the same version");
	}
	server++;
	if (!auth_is_named(server, servers)) {
		err_set(e, "the credential was made for \"%.255s\", and this is \"%s\"", server, *servers ? *servers : "");
		return err_hint(e,
				"make it with \"rota token --server\", or add the name to \"names\" in section \"gate\" of the "
				"server's rota.conf");
	}
	char *expected = auth_payload(request, server);
	bool same = strcmp(payload, expected) == 0;
	free(expected);
	if (same)
		return true;
	err_set(e, "the credential covers another request");
	return err_hint(e, "make the credential over \"METHOD TARGET\\n\" and the very body that is sent");
}

bool auth_decode(const char *socket, const char *credential, const char *const *servers, const struct auth_request *request,
		 uid_t *uid, gid_t *gid, struct err *e)
{
	void *covered = NULL;
	int size = 0;
	uid_t who = (uid_t)-1;
	gid_t group = (gid_t)-1;
	munge_ctx_t context = auth_context(socket);
	munge_err_t code = munge_decode(credential, context, &covered, &size, &who, &group);
	bool ok = code == EMUNGE_SUCCESS;
	if (ok) {
		char *payload = xstrndup(covered ? covered : "", (size_t)size);
		ok = auth_check_payload(payload, servers, request, e);
		free(payload);
	} else
		auth_fail(context, code, socket, e);
	if (ok) {
		*uid = who;
		*gid = group;
	}
	free(covered);
	munge_ctx_destroy(context);
	return ok;
}
