/* sign.c - authenticators, each over one exact text.
 *
 * The gate calls sign_authenticator with facts of a munge credential; the leader calls the other. An authenticator says
 * "this user asked for this script with this environment in this way", so rows altered in the database are refused before they
 * are signed. */
#include "jobmgr/lead/sign.h"

#include "lib/fields.h"

static struct fields *sign_subject_fields(const struct sign_subject *subject)
{
	struct fields *f = fields_new();

	fields_add_int(f, "uid", subject->uid);
	fields_add_int(f, "gid", subject->gid);
	fields_add(f, "user", subject->user);
	fields_add(f, "script", subject->script_hash);
	fields_add(f, "environment", subject->environment_hash);
	fields_add(f, "spec", subject->spec);
	return f;
}

void sign_authenticator(const struct seal_mac_key *key, const struct sign_subject *subject, char hex[SEAL_HEX_SIZE])
{
	struct fields *f = sign_subject_fields(subject);
	unsigned char mac[SEAL_MAC_SIZE];
	size_t length;
	const char *text = fields_text(f, &length);

	seal_mac(key, text, length, mac);
	seal_hex(mac, sizeof mac, hex);
	fields_free(f);
}

bool sign_authenticator_check(const struct seal_mac_key *key, const struct sign_subject *subject, const char *hex)
{
	struct fields *f = sign_subject_fields(subject);
	unsigned char mac[SEAL_MAC_SIZE];
	size_t length;
	const char *text = fields_text(f, &length);
	bool fits = seal_unhex(hex, mac, sizeof mac) && seal_mac_check(key, text, length, mac);

	fields_free(f);
	return fits;
}
