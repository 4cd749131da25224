/* credential_box.h - the boxes with credentials of attempts, which procmgrd puts into cache/ and keepers open. */
#ifndef ROTA_PROCMGR_CREDENTIAL_BOX_H
#define ROTA_PROCMGR_CREDENTIAL_BOX_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/credential.h"
#include "procmgr/record/record.h"

enum {
	CREDENTIAL_BOX_NAME = RECORD_KEY_SIZE + CREDENTIAL_NAME_SIZE + 8,
	CREDENTIAL_BOX_HEADER = 16 /* bytes before the box in its file: a magic number, the kind, and the version */
};

/* Make the name of the file of a box in cache/, "cred.812.0.1.krb5". */
void credential_box_name(const struct record_key *key, const char *credential, char name[CREDENTIAL_BOX_NAME]);
/* Make the name of the file that says that a credential was removed, "gone.812.0.1.krb5". */
void credential_box_gone_name(const struct record_key *key, const char *credential, char name[CREDENTIAL_BOX_NAME]);
/* Parse the name of a box's file (cred.*) or of a gone.* file; *gone is true for the latter. Returns false for any other name. */
bool credential_box_parse(const char *name, struct record_key *key, char credential[CREDENTIAL_NAME_SIZE], bool *gone);

void credential_box_header(enum credential_kind kind, int64_t version, unsigned char header[CREDENTIAL_BOX_HEADER]);
/* Returns the credential's version from the header of its file, and its kind in *kind; 0 if the bytes are no header. */
int64_t credential_box_version(const unsigned char header[CREDENTIAL_BOX_HEADER], enum credential_kind *kind);

/* Remove from cache/ the cred.* and gone.* files of all attempts for which is_kept(arg, key) returns false. */
void credential_box_tidy(bool (*is_kept)(void *arg, const struct record_key *key), void *arg);
/* Remove from cache/ the cred.* and gone.* files of one attempt. */
void credential_box_remove(const struct record_key *key);

#endif
