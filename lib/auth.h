/* auth.h - authenticates the user who sends an HTTP request, by a munge credential over the hash of that request. */
#ifndef ROTA_AUTH_H
#define ROTA_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* The request that a munge credential covers, by the hash of "METHOD TARGET\n" and the body. */
struct auth_request {
	const char *method, *target;
	const void *body;
	size_t size;
};

/* Let the munged at `socket` make a credential for a request to the jobmgrd called `server` (lib/http_url.h). Returns the
 * malloc'ed credential, or NULL on error. */
char *auth_encode(const char *socket, const char *server, const struct auth_request *request, struct err *e);

/* Verify a credential against its request, and set `uid` and `gid` of the user who made the credential. A credential that has
 * expired, was used before, was made for a server that is not in the NULL-terminated list `servers`, or covers another request is
 * refused. e->code is "08001" if munged could not be reached, else "". */
bool auth_decode(const char *socket, const char *credential, const char *const *servers, const struct auth_request *request,
		 uid_t *uid, gid_t *gid, struct err *e);

#endif
