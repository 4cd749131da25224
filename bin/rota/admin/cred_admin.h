/* cred_admin.h - `rota admin cred`: the keys for credentials. */
#ifndef ROTA_BIN_CRED_ADMIN_H
#define ROTA_BIN_CRED_ADMIN_H

#include <stdbool.h>

/* Have rota-credd make its next key, and seal all credentials with it. Returns the exit status. */
int cred_admin_rotate(bool json);

/* Say which public key, in a PEM file, credentials are sealed for on their way to these nodes. Returns the exit status. */
int cred_admin_key(const char *nodes, const char *file, bool json);

#endif
