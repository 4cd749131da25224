/* auth.h - authenticates the user who sends an HTTP request, by a munge credential over the hash of that request. */
#ifndef ROTA_AUTH_H
#define ROTA_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* Let the munged at `socket` make a credential for "METHOD TARGET\n" + body. Returns the malloc'ed credential, or NULL on
 * error. */
char *auth_encode(const char *socket, const char *method, const char *target, const void *body, size_t size, struct err *e);

/* Verify a credential against its request, and set `uid` and `gid` of the user who made the credential. A credential that has
 * expired, was used before, or covers another request is refused. e->code is "08001" if munged could not be reached, else "". */
bool auth_decode(const char *socket, const char *credential, const char *method, const char *target, const void *body, size_t size,
		 uid_t *uid, gid_t *gid, struct err *e);

#endif
