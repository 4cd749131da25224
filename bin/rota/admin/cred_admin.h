/* cred_admin.h - `rota admin cred`: the keys of rota-credd. */
#ifndef ROTA_BIN_CRED_ADMIN_H
#define ROTA_BIN_CRED_ADMIN_H

#include <stdbool.h>

/* Have rota-credd make its next key, and seal all credentials with it. Returns the exit status. */
int cred_admin_rotate(bool json);

#endif
