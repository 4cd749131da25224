/* credd_row.c - reads rows of credentials, and makes the texts to which their secrets are bound (docs/formats.md, "Sealed boxes").
 *
 * Called by: all other files of rota-credd.
 * Invariants: rota-credd opens no secret of a credential in the list of removed ones, even if the database still has it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "credmgr/credd_parts.h"
#include "lib/log.h"
#include "lib/seal.h"

/* Returns the text of a column, "" if the result does not have the column. */
static const char *row_text(const PGresult *result, int row, const char *column)
{
	return PQfnumber(result, column) >= 0 ? db_text(result, row, column) : "";
}

struct credd_row credd_row_read(const PGresult *result, int row)
{
	return (struct credd_row){
		.name = db_text(result, row, "name"),
		.kind = db_text(result, row, "kind"),
		.origin = row_text(result, row, "origin"),
		.uid = strtoll(db_text(result, row, "uid"), NULL, 10),
		.version = (int)strtol(db_text(result, row, "version"), NULL, 10),
	};
}

struct credd_said credd_row_said(const PGresult *result, int row)
{
	return (struct credd_said){.refresh_url = row_text(result, row, "refresh_url"),
				   .command = row_text(result, row, "command"),
				   .expires = row_text(result, row, "expires"),
				   .now = db_text(result, row, "now_s")};
}

char *credd_row_context(const struct credd_row *r)
{
	return xasprintf("rota credential %d\n%lld\n%s\n%s\n%d%s%s", *r->origin ? 2 : 1, (long long)r->uid, r->name, r->kind,
			 r->version, *r->origin ? "\n" : "", r->origin);
}

unsigned char *credd_bytes(const PGresult *result, int row, const char *column, size_t *size)
{
	const char *hex = db_text(result, row, column);
	hex += strncmp(hex, "\\x", 2) == 0 ? 2 : 0;
	*size = strlen(hex) / 2;
	unsigned char *bytes = xcalloc(1, *size + 1);
	if (!seal_unhex(hex, bytes, *size))
		die("the database sent a column %s that is no bytes", column);
	return bytes;
}

static void row_broken_noted(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_warning("could not report a credential that cannot be decrypted: %s %s", e->code, e->message);
}

static void row_removed_again(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result)
		log_error("could not have a credential removed again: %s %s", e->code, e->message);
}

bool credd_row_check(struct credd *c, const struct credd_row *r, int version, struct err *e)
{
	int64_t at = removed_find(c->removed, r->uid, r->name, r->origin, version);
	char uid[24], number[16], seconds[24], when[32] = "";
	struct tm tm;
	time_t then = (time_t)at;
	if (at == 0)
		return true;
	snprintf(uid, sizeof uid, "%lld", (long long)r->uid);
	snprintf(number, sizeof number, "%d", version);
	snprintf(seconds, sizeof seconds, "%lld", (long long)at);
	if (gmtime_r(&then, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
	log_warning("credential %s of user %s was removed at %s and is in the database again: removing it again", r->name, uid,
		    when);
	db_call(c->db, API_credential_remove_again,
		(struct db_param[]){{uid, -1}, {r->name, -1}, {r->origin, -1}, {number, -1}, {seconds, -1}}, 5, row_removed_again,
		c);
	return err_set(
		e, "the credential was removed at %s, before the database was restored from a backup; add the credential again",
		when);
}

bool credd_row_unseal(struct credd *c, const PGresult *result, int row, unsigned char **plain, size_t *size, struct err *e)
{
	struct credd_row r = credd_row_read(result, row);
	if (!credd_row_check(c, &r, r.version, e))
		return false;
	size_t sealed_size, nonce_size;
	unsigned char *sealed = credd_bytes(result, row, "sealed", &sealed_size);
	unsigned char *nonce = credd_bytes(result, row, "nonce", &nonce_size);
	char *context = credd_row_context(&r);
	int key = (int)strtol(db_text(result, row, "key_version"), NULL, 10);
	bool good =
		nonce_size == KEYRING_NONCE || err_set(e, "the database has no nonce of %d bytes for its secret", KEYRING_NONCE);
	good = good && keyring_unseal(c->ring, key, context, nonce, sealed, sealed_size, plain, size, e);
	if (!good) {
		const char *id = db_text(result, row, "credential_id");
		log_error("credential %s cannot be decrypted: %s", id, e->message);
		db_call(c->db, API_credential_broken,
			(struct db_param[]){{id, -1}, {db_text(result, row, "version"), -1}, {e->message, -1}}, 3,
			row_broken_noted, c);
	}
	free(context);
	free(sealed);
	free(nonce);
	return good;
}
