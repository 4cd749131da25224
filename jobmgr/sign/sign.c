/* sign.c - makes and checks authenticators, by which jobmgrd verifies that a step is as its owner submitted it.
 *
 * Called by: gate_job.c and gate_modify.c, which make an authenticator when a step is submitted or changed; lead_verify.c, which
 * checks it before a launch request is signed.
 * Invariants:
 * - An authenticator covers one exact text: owner, script, environment, spec and number of the job. A row that was altered in the
 *   database, or copied to another job, fits no authenticator, and the leader does not sign it. */
#include "jobmgr/sign/sign.h"

#include "lib/fields.h"

static struct fields *sign_make_fields(const struct sign_subject *subject)
{
	struct fields *f = fields_new();

	fields_add_int(f, "uid", subject->uid);
	fields_add_int(f, "gid", subject->gid);
	fields_add(f, "user", subject->user);
	fields_add(f, "script", subject->script_hash);
	fields_add(f, "environment", subject->environment_hash);
	fields_add(f, "spec", subject->spec);
	if (subject->number)
		fields_add_int(f, "job", subject->number);
	return f;
}

void sign_authenticator(const struct seal_mac_key *key, const struct sign_subject *subject, char hex[SEAL_HEX_SIZE])
{
	struct fields *f = sign_make_fields(subject);
	unsigned char mac[SEAL_MAC_SIZE];
	size_t length;
	const char *text = fields_text(f, &length);

	seal_mac(key, text, length, mac);
	seal_hex(mac, sizeof mac, hex);
	fields_free(f);
}

bool sign_authenticator_check(const struct seal_mac_key *key, const struct sign_subject *subject, const char *hex)
{
	struct fields *f = sign_make_fields(subject);
	unsigned char mac[SEAL_MAC_SIZE];
	size_t length;
	const char *text = fields_text(f, &length);
	bool is_equal = seal_unhex(hex, mac, sizeof mac) && seal_mac_check(key, text, length, mac);

	fields_free(f);
	return is_equal;
}
