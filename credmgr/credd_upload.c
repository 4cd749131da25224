/* credd_upload.c - stores uploaded credentials: opens each, has rota-credential inspect it, and seals it under the newest key.
 *
 * Called by: credd.c.
 * Invariants:
 * - An upload stays in the database until it is stored or refused, so another rota-credd takes it if the first one dies.
 * - A secret that cannot be opened or parsed is refused with a reason, and no copy of it is kept. */
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credmgr/credd_parts.h"
#include "lib/crash.h"
#include "lib/credential.h"
#include "lib/log.h"

enum { UPLOAD_ORIGIN = 33 };

static void upload_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd_work *w = arg;
	struct credd *c = w->credd;
	(void)db;
	if (!result)
		log_error("could not report an uploaded credential to the database; trying again: %s %s", e->code, e->message);
	credd_work_answered(w, result);
	credd_poll(c);
}

/* Report the outcome of an upload to the database: the sealed secret with its facts, or the reason why it is refused. */
static void upload_done(struct credd_work *w, const char *facts, const char *reason, const void *secret, size_t size)
{
	struct err e = {0};
	unsigned char nonce[KEYRING_NONCE], *sealed = NULL;
	size_t sealed_size = 0;
	char upload[24], version[16], key[16];
	if (!reason && !credd_work_seal(w, secret, size, nonce, &sealed, &sealed_size, &e))
		reason = e.message;
	if (reason)
		log_info("an uploaded credential of user %lld is refused: %s", (long long)w->uid, reason);
	snprintf(upload, sizeof upload, "%lld", (long long)w->id);
	snprintf(version, sizeof version, "%d", w->version);
	snprintf(key, sizeof key, "%d", keyring_newest(w->credd->ring));
	db_call(w->credd->db, API_credential_upload_done,
		(struct db_param[]){{upload, -1},
				    {version, -1},
				    {key, -1},
				    {reason ? NULL : (const char *)nonce, KEYRING_NONCE},
				    {reason ? NULL : (const char *)sealed, (int)sealed_size},
				    {reason ? NULL : facts, -1},
				    {w->origin, -1},
				    {reason, -1}},
		8, upload_answered, w);
	free(sealed);
}

static void upload_inspected(const struct child_answer *answer, void *arg)
{
	struct credd_work *w = arg;
	/* rota-credential returned a secret that replaces the uploaded one: made by a program of the site, or in the form in
	 * which it is stored */
	bool made = answer->size > 0;
	w->child = NULL;
	crash_point(CRASH_credential_inspected);
	if (answer->good)
		upload_done(w, answer->facts, NULL, made ? answer->secret : w->secret, made ? answer->size : w->size);
	else
		upload_done(w, NULL, answer->reason, NULL, 0);
}

/* Make the origin of a new credential, a random number. */
static void upload_draw_origin(char hex[UPLOAD_ORIGIN])
{
	unsigned char bytes[(UPLOAD_ORIGIN - 1) / 2];
	if (RAND_bytes(bytes, sizeof bytes) != 1)
		die("OpenSSL has no random bytes");
	seal_hex(bytes, sizeof bytes, hex);
}

static void upload_begin(struct credd *c, const PGresult *result, int row)
{
	struct credd_row r = credd_row_read(result, row);
	char origin[UPLOAD_ORIGIN];
	int64_t id = strtoll(db_text(result, row, "upload_id"), NULL, 10);
	struct err e = {0};
	/* If the credential of this name must be removed again, the upload stays in the database until that is done, and then makes
	 * another credential. */
	if (credd_work_has_upload(c, id) || !credd_row_check(c, &r, r.version - 1, &e))
		return;
	if (!*r.origin) {
		upload_draw_origin(origin);
		r.origin = origin;
	}
	size_t box_size, size = 0;
	unsigned char *box = credd_bytes(result, row, "box", &box_size), *plain = NULL;
	char *context = credential_upload_context(c->conf->instance_name, (uid_t)r.uid, r.name, r.kind);
	bool good = box_open(keyring_box(c->ring), NULL, context, box, box_size, &plain, &size, &e);
	struct credd_work *w = credd_work_new(c, WORK_UPLOAD, id, &r, plain, size);
	if (good)
		credd_work_start(w, strcmp(r.kind, "command") == 0 ? "renew" : "inspect", credd_row_said(result, row),
				 upload_inspected);
	else
		upload_done(w, NULL,
			    "it was sealed for another key, or by another version of Rota; is cred.pub the one of this cluster?",
			    NULL, 0);
	free(context);
	free(box);
}

static void upload_taken(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	(void)db;
	for (int i = 0; result && i < PQntuples(result); i++)
		upload_begin(c, result, i);
	credd_answered(c, CREDD_UPLOAD, false, result, e);
}

void credd_upload_ask(struct credd *c)
{
	char most[16];
	if (credd_work_free_slots(c) <= 0)
		return; /* all processes are in use; when one ends, the database is asked again */
	c->asking[CREDD_UPLOAD] = true;
	/* ask for as many uploads as may run in all: the answer may name uploads that already run */
	snprintf(most, sizeof most, "%d", c->conf->credentials_calls);
	db_call(c->db, API_credential_upload_take, (struct db_param[]){{most, -1}}, 1, upload_taken, c);
}
