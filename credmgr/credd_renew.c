/* credd_renew.c - renews credentials that would expire before the steps that use them end: rota-credential gets the secret, and
 * returns the next one.
 *
 * Called by: credd.c.
 * Invariants:
 * - The database decides which credentials are due, and gives each to one rota-credd at a time (api.credential_renew_take).
 * - If a renewed secret is not committed, it is lost, and the old one is renewed again. A renewal does not make the old ticket or
 *   token expire earlier. */
#include <stdio.h>
#include <stdlib.h>

#include "credmgr/credd_parts.h"
#include "lib/crash.h"
#include "lib/log.h"

enum { RENEW_MARGIN = 5 /* seconds for which the database keeps a renewal after the time limit of its program */ };

static void renew_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd_work *w = arg;
	struct credd *c = w->credd;
	(void)db;
	if (!result)
		log_error("could not store a renewed credential; trying again: %s %s", e->code, e->message);
	credd_work_answered(w, result);
	credd_poll(c);
}

/* Report a failed renewal. `final`: a renewal would fail again, whenever it is tried. */
static void renew_fail(struct credd_work *w, const char *reason, bool final)
{
	char id[24], version[16];
	log_info("credential %s of user %lld was not renewed: %s", w->name, (long long)w->uid, reason);
	snprintf(id, sizeof id, "%lld", (long long)w->id);
	snprintf(version, sizeof version, "%d", w->version - 1);
	db_call(w->credd->db, API_credential_renew_failed,
		(struct db_param[]){{id, -1}, {version, -1}, {reason, -1}, {final ? "t" : "f", -1}}, 4, renew_answered, w);
}

static void renew_store(struct credd_work *w, const struct child_answer *answer)
{
	struct err e = {0};
	unsigned char nonce[KEYRING_NONCE], *sealed;
	size_t sealed_size;
	char id[24], version[16], key[16];
	if (!credd_work_seal(w, answer->secret, answer->size, nonce, &sealed, &sealed_size, &e)) {
		renew_fail(w, e.message, false);
		return;
	}
	snprintf(id, sizeof id, "%lld", (long long)w->id);
	snprintf(version, sizeof version, "%d", w->version);
	snprintf(key, sizeof key, "%d", keyring_newest(w->credd->ring));
	db_call(w->credd->db, API_credential_renewed,
		(struct db_param[]){{id, -1},
				    {version, -1},
				    {key, -1},
				    {(const char *)nonce, KEYRING_NONCE},
				    {(const char *)sealed, (int)sealed_size},
				    {answer->facts, -1}},
		6, renew_answered, w);
	free(sealed);
}

static void renew_done(const struct child_answer *answer, void *arg)
{
	struct credd_work *w = arg;
	w->child = NULL;
	crash_point(CRASH_credential_renewed);
	if (answer->good)
		renew_store(w, answer);
	else
		renew_fail(w, answer->reason, answer->final);
}

static void renew_begin(struct credd *c, const PGresult *result, int row)
{
	struct credd_row r = credd_row_read(result, row);
	int64_t id = strtoll(db_text(result, row, "credential_id"), NULL, 10);
	struct err e = {0};
	unsigned char *plain = NULL;
	size_t size = 0;
	bool good = credd_row_unseal(c, result, row, &plain, &size, &e);
	struct credd_work *w = credd_work_new(c, WORK_RENEWAL, id, &r, plain, size);
	w->version = r.version + 1;
	if (good)
		credd_work_start(w, "renew", credd_row_said(result, row), renew_done);
	else
		renew_fail(w, e.message, false);
}

static void renew_taken(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	(void)db;
	for (int i = 0; result && i < PQntuples(result); i++)
		renew_begin(c, result, i);
	credd_answered(c, CREDD_RENEW, false, result, e);
}

void credd_renew_ask(struct credd *c)
{
	char most[16], hold[16];
	if (credd_work_free_slots(c) <= 0)
		return; /* all processes are in use; when one ends, the database is asked again */
	c->asking[CREDD_RENEW] = true;
	snprintf(most, sizeof most, "%d", credd_work_free_slots(c));
	snprintf(hold, sizeof hold, "%d", c->conf->credentials_timeout + RENEW_MARGIN);
	db_call(c->db, API_credential_renew_take, (struct db_param[]){{most, -1}, {hold, -1}}, 2, renew_taken, c);
}
