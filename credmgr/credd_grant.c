/* credd_grant.c - verifies that the owner of a credential has granted it to another user.
 *
 * Called by: credd_box.c, for each box whose job is not the owner's.
 * Invariants:
 * - Only a signature of jobmgrd proves a grant, not a row: whoever can write to the database could have credentials sealed for
 *   jobs of his own.
 * - A signature covers the origin of one credential, so it is not valid for a later credential of the same name. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "credmgr/credd_parts.h"
#include "lib/credential.h"

enum { GRANT_SLACK = 300 /* seconds by which the clocks of this host and of the database may differ */ };

bool credd_grant_check(const struct credd *c, const PGresult *result, int row, const struct credd_row *r, int64_t uid,
		       struct err *e)
{
	int64_t until = strtoll(db_text(result, row, "grant_until_s"), NULL, 10);
	size_t size;
	unsigned char *signature = credd_bytes(result, row, "grant_signature", &size);
	char *text = credential_grant_text(c->conf->instance_name, (uid_t)r->uid, r->name, r->origin, (uid_t)uid, until);
	bool is_signed = *r->origin && size == SEAL_SIGNATURE_SIZE && c->verify_key &&
			 seal_verify(c->verify_key, text, strlen(text), signature);
	bool good = c->verify_key || err_set(e, "this host cannot verify grants: there is no \"%s/sign.pub\"", c->conf->keys_dir);
	if (good && !is_signed) {
		good = err_set(e, "its owner has not granted it to uid %" PRId64, uid);
		strcpy(e->code, CREDD_FORGED);
	}
	if (good && until && until + GRANT_SLACK < time(NULL))
		good = err_set(e, "the grant to uid %" PRId64 " has ended", uid);
	free(text);
	free(signature);
	return good;
}
