/* credd_box.c - seals credentials for the nodes of attempts, so that only the node's own key opens them.
 *
 * Called by: credd.c.
 * Invariants:
 * - A box is bound to instance, node, attempt, owner of the job, name and kind of the credential, and number of the box. It
 *   proves that rota-credd made it: lib/box.h.
 * - rota-credd computes the name of a credential on the node, NAME or NAME@OWNER; the database does not choose it.
 * - rota-credd keeps no state about a box. A box that the database did not store is made again. */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "credmgr/credd_parts.h"
#include "lib/crash.h"
#include "lib/credential.h"
#include "lib/log.h"

enum {
	BOXES = 64,    /* most boxes in one call */
	BOX_MARGIN = 5 /* seconds; the same as internal.credential_margin() */
};

/* Array parameters of api.credential_box_put, where the outcome is a box and its number, or of api.credential_box_failed, where
 * it is a reason and the number of a grant. */
enum {
	COLUMN_JOB,
	COLUMN_STEP,
	COLUMN_ATTEMPT,
	COLUMN_NODE,
	COLUMN_NAME,
	COLUMN_VERSION,
	COLUMN_OUTCOME,
	COLUMN_NUMBER,
	COLUMNS
};

/* Boxes that were made, or boxes that could not be made, as columns of one database call. */
struct boxes {
	struct db_array *columns[COLUMNS];
	int count;
};

static void box_put(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	/* If the database stored none of the boxes, it would ask for the same boxes again at once. */
	credd_answered(arg, CREDD_BOX, result && strcmp(db_text(result, 0, "credential_box_put"), "0") != 0, result, e);
}

/* Callback of api.credential_box_failed. The database does not ask again for boxes that could not be made, so ask at once for the
 * next ones. */
static void box_failure_noted(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	(void)db;
	if (!result)
		log_warning("could not report credentials that were not sealed: %s %s", e->code, e->message);
	else if (strcmp(db_text(result, 0, "credential_box_failed"), "0") != 0)
		c->due[CREDD_BOX] = true;
	credd_poll(c);
}

/* Reduce *size, the length of a stored secret, to the part that the step gets. Of a token that can be renewed, that is the first
 * line: the token itself. */
static bool box_measure(const char *kind, const unsigned char *plain, size_t *size, struct err *e)
{
	const unsigned char *end = strcmp(kind, "token") == 0 ? memchr(plain, '\n', *size) : NULL;
	if (strcmp(kind, "token") == 0 && *plain == '{')
		return err_set(e, "an earlier version of Rota stored this token; steps get it after its next renewal");
	if (end && end + 1 < plain + *size)
		*size = (size_t)(end - plain);
	return true;
}

/* Returns true if the credential has not expired by the clock of this host. The database sends credentials that are valid by its
 * own clock, which may be behind. */
static bool box_is_alive(const char *expires, struct err *e)
{
	int64_t until = strtoll(expires, NULL, 10);
	return until == 0 || until > time(NULL) + BOX_MARGIN ||
	       err_set(e, "it has expired by the clock of rota-credd's host, not by that of the database: set both by NTP");
}

/* Compute the name of a credential on the node: NAME for its owner, else NAME@OWNER. Fails if the database sent another name, so
 * that it cannot pass one credential for another. */
static bool box_name(const struct credd_row *r, int64_t uid, const char *delivered, char *name, size_t size, struct err *e)
{
	const struct passwd *owner = uid == r->uid ? NULL : getpwuid((uid_t)r->uid);
	if (uid != r->uid && !owner)
		return err_set(e, "this host has no user of uid %" PRId64 ", its owner", r->uid);
	snprintf(name, size, "%s%s%s", r->name, owner ? "@" : "", owner ? owner->pw_name : "");
	return strcmp(name, delivered) == 0 || err_set(e, "its name is \"%s\", and not \"%.100s\"", name, delivered);
}

static bool box_make(struct credd *c, const PGresult *result, int row, unsigned char **box, size_t *box_size, struct err *e)
{
	struct credd_row r = credd_row_read(result, row);
	int64_t uid = strtoll(db_text(result, row, "job_uid"), NULL, 10);
	struct credential credential = {0};
	struct credential_delivery delivery = {.instance = c->conf->instance_name,
					       .node = db_text(result, row, "node"),
					       .job_id = strtoll(db_text(result, row, "job_id"), NULL, 10),
					       .step_id = (int)strtol(db_text(result, row, "step_id"), NULL, 10),
					       .attempt = (int)strtol(db_text(result, row, "attempt"), NULL, 10),
					       .uid = (uid_t)uid,
					       .credential = &credential,
					       .version = strtoll(db_text(result, row, "number"), NULL, 10)};
	size_t size;
	unsigned char key[BOX_KEY], *plain;
	bool good = credential_kind_read(r.kind, &credential.kind) || err_set(e, "the row of a box is malformed");
	good = good && box_is_alive(db_text(result, row, "expires_s"), e);
	good = good && box_name(&r, uid, db_text(result, row, "delivered"), credential.name, sizeof credential.name, e);
	good = good && (uid == r.uid || credd_grant_check(c, result, row, &r, uid, e));
	good = good && credd_nodes_key(c, delivery.node, key, e) && credd_row_unseal(c, result, row, &plain, &size, e);
	if (good) {
		char *context = credential_delivery_context(&delivery);
		size_t delivered = size;
		good = box_measure(r.kind, plain, &delivered, e) &&
		       box_seal(key, keyring_box(c->ring), context, plain, delivered, box, box_size, e);
		xfree_wiped(plain, size);
		free(context);
	}
	return good;
}

/* Add the attempt, node and credential of a row to the columns. */
static void boxes_add(struct boxes *boxes, const PGresult *result, int row)
{
	static const char *const numbers[] = {
		[COLUMN_JOB] = "job_id", [COLUMN_STEP] = "step_id", [COLUMN_ATTEMPT] = "attempt", [COLUMN_NODE] = "node_id"};
	for (int i = COLUMN_JOB; i <= COLUMN_NODE; i++)
		db_array_int(boxes->columns[i], strtoll(db_text(result, row, numbers[i]), NULL, 10));
	db_array_text(boxes->columns[COLUMN_NAME], db_text(result, row, "delivered"));
	db_array_int(boxes->columns[COLUMN_VERSION], strtoll(db_text(result, row, "version"), NULL, 10));
	boxes->count++;
}

/* Make the box of a row, and add it to the boxes that were made, or to the failures. A box for a node whose key cannot be read now is
 * added to neither: the next call lists it again. */
static void box_add(struct credd *c, const PGresult *result, int row, struct boxes *made, struct boxes *failed)
{
	unsigned char *box;
	size_t size;
	struct err e = {0};
	if (box_make(c, result, row, &box, &size, &e)) {
		boxes_add(made, result, row);
		db_array_bytes(made->columns[COLUMN_OUTCOME], box, (int)size);
		db_array_int(made->columns[COLUMN_NUMBER], strtoll(db_text(result, row, "number"), NULL, 10));
		free(box);
		return;
	}
	log_error("credential %s for job %s was not sealed: %s", db_text(result, row, "name"), db_text(result, row, "job_id"),
		  e.message);
	if (strcmp(e.code, SEAL_UNREADABLE) == 0)
		return;
	boxes_add(failed, result, row);
	db_array_text(failed->columns[COLUMN_OUTCOME], e.message);
	db_array_int(failed->columns[COLUMN_NUMBER],
		     strcmp(e.code, CREDD_FORGED) == 0 ? strtoll(db_text(result, row, "grant_id"), NULL, 10) : 0);
}

/* Call the api function with the columns, if they have rows. */
static void boxes_send(struct credd *c, const struct boxes *boxes, enum api_function function, db_answer *answered)
{
	struct db_param params[COLUMNS];
	for (int i = 0; i < COLUMNS; i++)
		params[i] = (struct db_param){db_array_literal(boxes->columns[i]), -1};
	if (boxes->count > 0)
		db_call(c->db, function, params, COLUMNS, answered, c);
}

static void box_taken(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	struct boxes made = {0}, failed = {0};
	(void)db;
	if (!result || PQntuples(result) == 0) {
		credd_answered(c, CREDD_BOX, false, result, e);
		return;
	}
	for (int i = 0; i < COLUMNS; i++) {
		made.columns[i] = db_array_new();
		failed.columns[i] = db_array_new();
	}
	for (int i = 0; i < PQntuples(result); i++)
		box_add(c, result, i, &made, &failed);
	crash_point(CRASH_credential_boxed);
	boxes_send(c, &failed, API_credential_box_failed, box_failure_noted);
	boxes_send(c, &made, API_credential_box_put, box_put);
	if (made.count == 0)
		credd_answered(c, CREDD_BOX, false, result, e);
	for (int i = 0; i < COLUMNS; i++) {
		db_array_free(made.columns[i]);
		db_array_free(failed.columns[i]);
	}
}

void credd_box_ask(struct credd *c)
{
	char most[16];
	c->asking[CREDD_BOX] = true;
	snprintf(most, sizeof most, "%d", BOXES);
	db_call(c->db, API_credential_box_take, (struct db_param[]){{most, -1}}, 1, box_taken, c);
}
