/* credd_test.c - tests credentials for their owners: rota-credential gets the secret, and reports whether servers accept it.
 *
 * Called by: credd.c.
 * Invariants:
 * - The secret leaves this host only to the server that issued it. The server's answer is not stored.
 * - Tests use at most a quarter of the processes, so that renewals never wait for tests.
 * - The database gives each test to one rota-credd at a time (api.credential_test_take). */
#include <stdio.h>
#include <stdlib.h>

#include "credmgr/credd_parts.h"
#include "lib/log.h"

enum { TEST_MARGIN = 5 /* seconds for which the database keeps a test after the time limit of its program */ };

static void test_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd_work *w = arg;
	struct credd *c = w->credd;
	(void)db;
	if (!result)
		log_error("could not report a test of a credential to the database; trying again: %s %s", e->code, e->message);
	credd_work_answered(w, result);
	credd_poll(c);
}

static void test_report(struct credd_work *w, const char *facts, const char *failure)
{
	char id[24];
	snprintf(id, sizeof id, "%lld", (long long)w->id);
	db_call(w->credd->db, API_credential_tested, (struct db_param[]){{id, -1}, {facts, -1}, {failure, -1}}, 3, test_answered,
		w);
}

static void test_done(const struct child_answer *answer, void *arg)
{
	struct credd_work *w = arg;
	w->child = NULL;
	test_report(w, answer->good ? answer->facts : NULL, answer->good ? NULL : answer->reason);
}

static void test_begin(struct credd *c, const PGresult *result, int row)
{
	struct credd_row r = credd_row_read(result, row);
	struct err e = {0};
	unsigned char *plain = NULL;
	size_t size = 0;
	bool good = credd_row_unseal(c, result, row, &plain, &size, &e);
	struct credd_work *w = credd_work_new(c, WORK_TEST, strtoll(db_text(result, row, "test_id"), NULL, 10), &r, plain, size);
	if (good)
		credd_work_start(w, "test", credd_row_said(result, row), test_done);
	else
		test_report(w, NULL, e.message);
}

static void test_taken(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	(void)db;
	for (int i = 0; result && i < PQntuples(result); i++)
		test_begin(c, result, i);
	credd_answered(c, CREDD_TEST, false, result, e);
}

/* Returns how many tests may start. Most slots are left to uploads and renewals. */
static int test_free_slots(const struct credd *c)
{
	int share = c->conf->credentials_calls / 4, slots = (share > 0 ? share : 1) - credd_work_count_tests(c);
	return slots < credd_work_free_slots(c) ? slots : credd_work_free_slots(c);
}

void credd_test_ask(struct credd *c)
{
	char most[16], hold[16];
	int slots = test_free_slots(c);
	if (slots <= 0)
		return; /* all processes are in use; when one ends, the database is asked again */
	c->asking[CREDD_TEST] = true;
	snprintf(most, sizeof most, "%d", slots);
	snprintf(hold, sizeof hold, "%d", c->conf->credentials_timeout + TEST_MARGIN);
	db_call(c->db, API_credential_test_take, (struct db_param[]){{most, -1}, {hold, -1}}, 2, test_taken, c);
}
