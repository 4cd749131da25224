/* credd_removed.c - adds removals that the database reports to the list of removed credentials (removed.c), and has a database that was
 * restored from an earlier backup remove those credentials again.
 *
 * Called by: credd.c.
 * Invariants: the first answer on a connection has all credentials of the database. Later answers have those that were removed within
 * the last hour. */
#include <stdlib.h>

#include "credmgr/credd_parts.h"
#include "lib/log.h"

/* A row is a credential that was removed, which is added to the list, or one that exists, which is compared with the list. */
static void removal_take(struct credd *c, const PGresult *result, int row)
{
	struct credd_row r = credd_row_read(result, row);
	struct err e = {0};
	if (db_is_null(result, row, "removed_s"))
		credd_row_check(c, &r, r.version, &e);
	else
		removed_note(c->removed, r.uid, r.name, r.origin, r.version,
			     strtoll(db_text(result, row, "removed_s"), NULL, 10));
}

static void removals_taken(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	struct err failure = {0};
	(void)db;
	for (int i = 0; result && i < PQntuples(result); i++)
		removal_take(c, result, i);
	if (result && removed_save(c->removed, &failure))
		c->compared = true;
	else if (result)
		log_error("%s", failure.message);
	credd_answered(c, CREDD_REMOVED, false, result, e);
}

void credd_removed_ask(struct credd *c)
{
	c->asking[CREDD_REMOVED] = true;
	db_call(c->db, API_credential_removals, (struct db_param[]){{c->compared ? "f" : "t", -1}}, 1, removals_taken, c);
}
