/* credential.h - credentials of users as steps name them: names, kinds, lists of names, and the contexts of their boxes. */
#ifndef ROTA_CREDENTIAL_H
#define ROTA_CREDENTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	CREDENTIAL_OWN_NAME_SIZE = 32,
	CREDENTIAL_OWNER_SIZE = 33, /* login names of owners */
	CREDENTIAL_NAME_SIZE = CREDENTIAL_OWN_NAME_SIZE + CREDENTIAL_OWNER_SIZE,
	CREDENTIALS_MOST = 16, /* credentials of a step */
	CREDENTIAL_SECRET_LARGEST = 1024 * 1024
};

enum credential_kind {
	CREDENTIAL_KRB5,
	CREDENTIAL_TOKEN,
	CREDENTIAL_SSH_KEY,
	CREDENTIAL_X509,
	CREDENTIAL_FILE,
	CREDENTIAL_COMMAND,
	CREDENTIAL_KINDS
};

struct credential {
	char name[CREDENTIAL_NAME_SIZE];
	enum credential_kind kind;
};

/* Returns true for a lower-case letter and up to 30 more lower-case letters, digits, _ and -. The name of a credential that is somebody
 * else's has "@" and the login name of its owner after that. */
bool credential_name_valid(const char *name);

/* Returns the name of a kind, such as "ssh-key". */
const char *credential_kind_name(enum credential_kind kind);
bool credential_kind_read(const char *name, enum credential_kind *kind);

/* Read a list of names such as "krb5,archive", in which none is given twice. The list does not say their kinds, so `kind` becomes
 * CREDENTIAL_KINDS (unknown); the delivery of each credential says its kind. Returns the number of credentials, or -1 if the list
 * is empty or malformed. */
int credential_list_read(const char *text, struct credential list[CREDENTIALS_MOST]);

/* Returns the context of the box in which a user uploads a credential for rota-credd (docs/formats.md, "Sealed boxes"), malloc'ed. */
char *credential_upload_context(const char *instance, uid_t uid, const char *name, const char *kind);

/* Returns the text that jobmgrd signs to grant a credential to another user (docs/formats.md, "Grants"), malloc'ed. until: end of
 * the grant in epoch seconds, 0: it has none. */
char *credential_grant_text(const char *instance, uid_t owner, const char *name, const char *origin, uid_t grantee,
			    int64_t until);

/* The delivery of a credential: its owner, and the node and attempt that get it. */
struct credential_delivery {
	const char *instance, *node;
	int64_t job_id;
	int step_id, attempt;
	uid_t uid;
	const struct credential *credential;
	int64_t version; /* number of the box, from 1; a later one has a higher number */
};

/* Returns the context of the box of a delivery (docs/formats.md, "Sealed boxes"), malloc'ed. */
char *credential_delivery_context(const struct credential_delivery *delivery);

#endif
