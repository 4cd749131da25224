/* credd_parts.h - structs and functions that the files of rota-credd share. No other file includes this header.
 *
 * credd.c starts and ends rota-credd, and receives events. credd_upload.c stores uploads, credd_box.c seals credentials for nodes,
 * credd_renew.c renews them, credd_test.c tests them, credd_reseal.c changes keys, and has steps held and released. credd_nodes.c
 * reads the public keys of nodes, credd_removed.c updates the list of removed credentials, credd_grant.c verifies grants.
 * credd_task.c calls the database, credd_work.c runs uploads and renewals, and credd_row.c reads rows.
 * Invariants: calls go down this list, never up. */
#ifndef ROTA_CREDMGR_CREDD_PARTS_H
#define ROTA_CREDMGR_CREDD_PARTS_H

#include <event2/event.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "credmgr/child.h"
#include "credmgr/keyring.h"
#include "credmgr/removed.h"
#include "lib/conf.h"
#include "lib/db.h"
#include "lib/err.h"
#include "lib/seal.h"

/* The calls of the database, in the order in which they are made. One call of each kind is under way at a time. */
enum credd_task {
	CREDD_REMOVED,
	CREDD_BOX,
	CREDD_UPLOAD,
	CREDD_RENEW,
	CREDD_TEST,
	CREDD_JUDGE,
	CREDD_RESEAL,
	CREDD_NODES,
	CREDD_TASKS
};

struct credd {
	struct event_base *base;
	const struct conf *conf;
	char *name;
	struct db *db;
	struct db_watcher watcher;
	struct keyring *ring;
	struct removed *removed;
	bool compared; /* all credentials in the database were compared with `removed` since this connection began */
	/* jobmgrd's public key, which verifies grants; NULL: this host does not have the key */
	struct seal_verify_key *verify_key;
	struct event *beat, *soon, *children;
	void (*ask[CREDD_TASKS])(struct credd *c); /* make the call of a task */
	bool due[CREDD_TASKS], asking[CREDD_TASKS];
	struct credd_work *works; /* uploads and renewals under way */
	int work_count;
	struct timespec nodes_at; /* time of the folder with the keys of nodes, when these were last reported */
	int64_t registered_at_us; /* when this daemon last registered in the database, as time since boot */
};

/* credd_row.c: a credential, as read from a row of a database result. The result owns the texts. */
struct credd_row {
	const char *name, *kind, *origin; /* origin: the random number of the credential's first upload, in hex; "": none */
	int64_t uid;
	int version;
};
struct credd_row credd_row_read(const PGresult *result, int row);

/* Options that the owner gave with a credential ("": not given), and the time by the database's clock (`now`). The database
 * result owns the texts. */
struct credd_said {
	const char *refresh_url, *command, *expires, *now;
};
struct credd_said credd_row_said(const PGresult *result, int row);

/* Returns the context under which the secret of a credential is sealed in the database, malloc'ed. */
char *credd_row_context(const struct credd_row *r);

/* Read a column of type bytea; malloc'ed. */
unsigned char *credd_bytes(const PGresult *result, int row, const char *column, size_t *size);

/* Returns false if this version of a credential was removed: the database has lost that removal, and is asked to remove it again. */
bool credd_row_check(struct credd *c, const struct credd_row *r, int version, struct err *e);

/* Open the secret of a row with columns credential_id, key_version, nonce and sealed. A failure is reported to the database. */
bool credd_row_unseal(struct credd *c, const PGresult *result, int row, unsigned char **plain, size_t *size, struct err *e);

/* credd_work.c: an upload, a renewal or a test that rota-credential works on. */
struct credd_work {
	struct credd_work *next;
	struct credd *credd;
	struct child *
		child; /* process of rota-credential; NULL: the process has ended, and its result is being sent to the database */
	enum { WORK_UPLOAD, WORK_RENEWAL, WORK_TEST } what;
	int64_t id; /* number of the upload, the credential or the test */
	int64_t uid;
	char *name, *kind, *origin;
	int version; /* version that the secret gets */
	unsigned char *secret;
	size_t size;
};

/* Returns the number of processes of rota-credential that may still start. */
int credd_work_free_slots(const struct credd *c);

/* Returns true if the upload with this number is under way. Renewals need no such check: the database returns each of them only
 * once. */
bool credd_work_has_upload(const struct credd *c, int64_t id);

/* Returns the number of tests under way. */
int credd_work_count_tests(const struct credd *c);

/* Make an upload, a renewal or a test (`what`) from a database row. It takes over `secret`, and frees it at the end. */
struct credd_work *credd_work_new(struct credd *c, int what, int64_t id, const struct credd_row *r, unsigned char *secret,
				  size_t size);
void credd_work_end(struct credd_work *w);

/* End an upload, renewal or test when the database has answered the call with its result. Its slot is then free, so the tasks
 * that wait for a slot are due now, or, after a failure, at the next heartbeat. */
void credd_work_answered(struct credd_work *w, const PGresult *result);

/* Start rota-credential for an upload, a renewal or a test. `action` is "inspect", "renew" or "test". */
void credd_work_start(struct credd_work *w, const char *action, struct credd_said said, child_done *done);

/* Seal `secret`, the result of an upload or a renewal, for the database, as version w->version. `nonce` has KEYRING_NONCE bytes;
 * *sealed is malloc'ed. */
bool credd_work_seal(const struct credd_work *w, const void *secret, size_t size, unsigned char nonce[KEYRING_NONCE],
		     unsigned char **sealed, size_t *sealed_size, struct err *e);

/* credd_nodes.c: read the public key of a node. If its file exists and cannot be read now, e->code is SEAL_UNREADABLE, and the next
 * beat reports again to the database for which nodes there are keys. */
bool credd_nodes_key(struct credd *c, const char *node, unsigned char key[BOX_KEY], struct err *e);

/* credd_grant.c: returns true if the owner of the row's credential has granted it to this user. e->code is CREDD_FORGED if the
 * signature is wrong. */
#define CREDD_FORGED "forge"
bool credd_grant_check(const struct credd *c, const PGresult *result, int row, const struct credd_row *r, int64_t uid,
		       struct err *e);

/* credd_task.c: make the calls of the database that are due and not under way. */
void credd_poll(struct credd *c);

/* Handle the answer to a task's call. With `again`, the call is repeated at once. A failure is logged, and the next beat repeats the
 * call. */
void credd_answered(struct credd *c, enum credd_task task, bool again, const PGresult *result, const struct err *e);

/* Each function makes the call of one task, and sets c->asking until the answer has come. */
void credd_removed_ask(struct credd *c);
void credd_box_ask(struct credd *c);
void credd_upload_ask(struct credd *c);
void credd_renew_ask(struct credd *c);
void credd_test_ask(struct credd *c);
void credd_judge_ask(struct credd *c);
void credd_reseal_ask(struct credd *c);
void credd_nodes_ask(struct credd *c);

#endif
