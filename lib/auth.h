/* auth.h - who is asking: a munge credential over the hash of one request. */
#ifndef ROTA_AUTH_H
#define ROTA_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* The credential (malloc'ed) for "METHOD TARGET\n" + body, made by the munged behind `socket`. */
char *auth_encode(const char *socket, const char *method, const char *target, const void *body, size_t size, struct err *e);

/* Check a credential against the request; a credential that expired, was used before, or covers another request is refused.
 * e->code is "08001" where munged could not be reached, else empty. */
bool auth_decode(const char *socket, const char *credential, const char *method, const char *target, const void *body, size_t size,
		 uid_t *uid, gid_t *gid, struct err *e);

#endif
