/* gate_grant.c - signs grants of credentials (gate_grant.h).
 *
 * Called by: gate_dispatch.c.
 * Invariants:
 * - Only a grant by the user whom the credential of the request names is signed.
 * - Grantee and end are those of the request. They must be numbers, so that database and signature have the same values.
 * - Only the origin of the credential comes from the database. With a wrong origin, the signed grant opens nothing. */
#include "jobmgr/gate/gate_grant.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/credential.h"

/* Sign the grant of the request, with the credential's origin in the database's answer, and store the signature in the
 * database. */
static void grant_sign(struct gate_call *c, const json_t *answer)
{
	const char *name = json_string_value(json_object_get(c->request, "name"));
	const char *origin = json_string_value(json_object_get(answer, "origin"));
	json_int_t until = json_integer_value(json_object_get(c->request, "until_s"));
	uid_t to = (uid_t)json_integer_value(json_object_get(c->request, "to_uid"));
	char *text =
		credential_grant_text(c->server->conf->instance_name, c->credential->uid, name ? name : "", origin, to, until);
	unsigned char signature[SEAL_SIGNATURE_SIZE];
	char hex[2 * SEAL_SIGNATURE_SIZE + 1];

	seal_sign(c->server->sign_key, text, strlen(text), signature);
	seal_hex(signature, sizeof signature, hex);
	json_object_set_new(c->request, "signature", json_string(hex));
	json_object_set_new(c->request, "origin", json_string(origin));
	free(text);
	gate_call_request(c, c->route->function, c->request, gate_call_pass);
}

static void grant_answered(struct gate_call *c, const char *text, const struct err *failure)
{
	json_t *answer = text ? json_loads(text, 0, NULL) : NULL;

	if (failure || !json_is_string(json_object_get(answer, "origin")))
		gate_call_pass(c, text, failure); /* nothing to sign: the database has refused the request or revoked a grant */
	else
		grant_sign(c, answer);
	json_decref(answer);
}

/* Called again after a rollback of the transaction: the answer may then have another origin. */
static void grant_ask(struct gate_call *c)
{
	json_object_del(c->request, "signature");
	gate_call_request(c, c->route->function, c->request, grant_answered);
}

/* Is a member that will be signed absent, or a number? The database would read a text as a number, but the signature would have
 * 0. */
static bool grant_check_number(const json_t *request, const char *member, struct err *e)
{
	const json_t *value = json_object_get(request, member);

	return !value || json_is_integer(value) || gate_refuse(e, "RT422", "\"%s\" must be a number", member);
}

void gate_grant(struct gate_call *c)
{
	struct err e;

	if (!grant_check_number(c->request, "to_uid", &e) || !grant_check_number(c->request, "until_s", &e)) {
		gate_call_fail(c, &e, NULL);
		return;
	}
	c->send = grant_ask;
	grant_ask(c);
}
