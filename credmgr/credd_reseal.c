/* credd_reseal.c - asks the database to judge steps by their credentials, and seals credentials with the newest key that were
 * sealed with an older one.
 *
 * Called by: credd.c.
 * Invariants:
 * - The database names the number of the key to seal with. If it is above the newest key, rota-credd makes only the next key, so
 *   no row can make it create many keys.
 * - The database accepts a secret that was sealed again only if its version is still the one that was read, so a change in
 *   between is not lost. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "credmgr/credd_parts.h"
#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/log.h"

enum { RESEALS = 200 /* most credentials in one call */ };

static void judge_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	bool again = false;
	struct err failure = {0};
	(void)db;
	if (result && PQntuples(result) == 1) {
		const char *wait = db_text(result, 0, "wait_s");
		double seconds = *wait ? strtod(wait, NULL) : HUGE_VAL;
		again = seconds <= 0;
		if (!again && seconds < c->conf->credentials_period)
			event_add(c->soon, &(struct timeval){.tv_sec = (time_t)seconds, .tv_usec = 100000});
		if (strtol(db_text(result, 0, "key_wanted"), NULL, 10) > keyring_newest(c->ring)) {
			if (keyring_next(c->ring, &failure))
				log_info("key %d seals credentials from now on", keyring_newest(c->ring));
			else
				log_error("%s", failure.message);
			crash_point(CRASH_credential_key_made);
			c->due[CREDD_RESEAL] = true;
		}
	}
	credd_answered(c, CREDD_JUDGE, again, result, e);
}

void credd_judge_ask(struct credd *c)
{
	c->asking[CREDD_JUDGE] = true;
	db_call(c->db, API_credential_judge, NULL, 0, judge_answered, c);
}

static void reseal_stored(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	credd_answered(arg, CREDD_RESEAL, true, result, e);
}

/* Seal the secret of a row under the newest key. */
static bool reseal_make(struct credd *c, const PGresult *result, int row, unsigned char nonce[KEYRING_NONCE],
			unsigned char **sealed, size_t *sealed_size, struct err *e)
{
	struct credd_row r = credd_row_read(result, row);
	unsigned char *plain;
	size_t size;
	if (!credd_row_unseal(c, result, row, &plain, &size, e))
		return false;
	char *context = credd_row_context(&r);
	bool good = keyring_seal(c->ring, context, plain, size, nonce, sealed, sealed_size, e);
	xfree_wiped(plain, size);
	free(context);
	return good;
}

static void reseal_taken(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	struct db_array *ids = db_array_new(), *versions = db_array_new(), *nonces = db_array_new(), *sealed = db_array_new();
	char key[16];
	int made = 0;
	(void)db;
	for (int i = 0; result && i < PQntuples(result); i++) {
		unsigned char nonce[KEYRING_NONCE], *bytes;
		size_t size;
		struct err failure = {0};
		if (!reseal_make(c, result, i, nonce, &bytes, &size, &failure)) {
			log_error("credential %s was not sealed anew: %s", db_text(result, i, "credential_id"), failure.message);
			continue;
		}
		db_array_int(ids, strtoll(db_text(result, i, "credential_id"), NULL, 10));
		db_array_int(versions, strtoll(db_text(result, i, "version"), NULL, 10));
		db_array_bytes(nonces, nonce, KEYRING_NONCE);
		db_array_bytes(sealed, bytes, (int)size);
		free(bytes);
		made++;
	}
	snprintf(key, sizeof key, "%d", keyring_newest(c->ring));
	crash_point(CRASH_credential_resealed);
	if (made > 0)
		db_call(c->db, API_credential_resealed,
			(struct db_param[]){{db_array_literal(ids), -1},
					    {db_array_literal(versions), -1},
					    {key, -1},
					    {db_array_literal(nonces), -1},
					    {db_array_literal(sealed), -1}},
			5, reseal_stored, c);
	else
		credd_answered(c, CREDD_RESEAL, false, result, e);
	db_array_free(ids);
	db_array_free(versions);
	db_array_free(nonces);
	db_array_free(sealed);
}

void credd_reseal_ask(struct credd *c)
{
	char key[16], most[16];
	c->asking[CREDD_RESEAL] = true;
	snprintf(key, sizeof key, "%d", keyring_newest(c->ring));
	snprintf(most, sizeof most, "%d", RESEALS);
	db_call(c->db, API_credential_reseal_take, (struct db_param[]){{key, -1}, {most, -1}}, 2, reseal_taken, c);
}
