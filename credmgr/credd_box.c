/* credd_box.c - seals credentials for the nodes of attempts, so that only the node's own key opens them.
 *
 * Called by: credd.c.
 * Invariants:
 * - A box is bound to instance, node, attempt, owner of the job, name, kind and version, and its maker is certain: lib/box.h.
 * - Nothing is remembered of a box. One that was not stored is made again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credmgr/credd_parts.h"
#include "lib/crash.h"
#include "lib/credential.h"
#include "lib/log.h"

enum { BOXES = 64 /* in one call */ };

/* The columns of a call of api.credential_box_put. */
enum { COLUMN_JOB, COLUMN_STEP, COLUMN_ATTEMPT, COLUMN_NODE, COLUMN_NAME, COLUMN_VERSION, COLUMN_BOX, COLUMNS };

static void box_put(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	/* If nothing was stored, the same boxes would be answered at once. */
	credd_answered(arg, CREDD_BOX, result && strcmp(db_text(result, 0, "credential_box_put"), "0") != 0, result, e);
}

/* Find out how much of a held secret the step gets. Of a token that can be renewed that is the first line: the token itself. */
static bool box_measure(const char *kind, const unsigned char *plain, size_t *size, struct err *e)
{
	const unsigned char *end = strcmp(kind, "token") == 0 ? memchr(plain, '\n', *size) : NULL;
	if (strcmp(kind, "token") == 0 && *plain == '{')
		return err_set(e, "an earlier version of Rota stored it; it is renewed first");
	if (end && end + 1 < plain + *size)
		*size = (size_t)(end - plain);
	return true;
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
					       .version = r.version};
	size_t size;
	unsigned char key[BOX_KEY], *plain;
	snprintf(credential.name, sizeof credential.name, "%s", db_text(result, row, "delivered"));
	bool good = credential_kind_read(r.kind, &credential.kind) || err_set(e, "the row of a box is malformed");
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

/* Make the box of a row, and add it to the columns. */
static void box_add(struct credd *c, const PGresult *result, int row, struct db_array **columns)
{
	static const char *const numbers[] = {
		[COLUMN_JOB] = "job_id", [COLUMN_STEP] = "step_id", [COLUMN_ATTEMPT] = "attempt", [COLUMN_NODE] = "node_id"};
	unsigned char *box;
	size_t size;
	struct err e = {0};
	if (!box_make(c, result, row, &box, &size, &e)) {
		log_error("credential %s for job %s was not sealed: %s", db_text(result, row, "name"),
			  db_text(result, row, "job_id"), e.message);
		return;
	}
	for (int i = COLUMN_JOB; i <= COLUMN_NODE; i++)
		db_array_int(columns[i], strtoll(db_text(result, row, numbers[i]), NULL, 10));
	db_array_text(columns[COLUMN_NAME], db_text(result, row, "delivered"));
	db_array_int(columns[COLUMN_VERSION], strtoll(db_text(result, row, "version"), NULL, 10));
	db_array_bytes(columns[COLUMN_BOX], box, (int)size);
	free(box);
}

static void box_taken(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	struct db_array *columns[COLUMNS];
	struct db_param params[COLUMNS];
	(void)db;
	if (!result || PQntuples(result) == 0) {
		credd_answered(c, CREDD_BOX, false, result, e);
		return;
	}
	for (int i = 0; i < COLUMNS; i++)
		columns[i] = db_array_new();
	for (int i = 0; i < PQntuples(result); i++)
		box_add(c, result, i, columns);
	for (int i = 0; i < COLUMNS; i++)
		params[i] = (struct db_param){db_array_literal(columns[i]), -1};
	crash_point(CRASH_credential_boxed);
	if (strcmp(params[COLUMN_JOB].value, "{}") == 0)
		credd_answered(c, CREDD_BOX, false, result, e); /* none could be made; the next beat tries again */
	else
		db_call(c->db, API_credential_box_put, params, COLUMNS, box_put, c);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

void credd_box_ask(struct credd *c)
{
	char most[16];
	c->asking[CREDD_BOX] = true;
	snprintf(most, sizeof most, "%d", BOXES);
	db_call(c->db, API_credential_box_take, (struct db_param[]){{most, -1}}, 1, box_taken, c);
}
