/* upload.h - sends a secret of the caller to rota-credd: sealed here, so that nobody between can read it. */
#ifndef ROTA_BIN_UPLOAD_H
#define ROTA_BIN_UPLOAD_H

#include <jansson.h>

/* Read the secret from a file, "-" for standard input, or NULL for what the kind has by default: of krb5 the caller's ticket cache.
 * Seal it, send it with `request` (name, kind and what else is said of it), and wait until rota-credd has stored it. Frees the request.
 * Returns the credential as the database has it; NULL after a message, with the exit status in *status. */
json_t *upload_credential(json_t *request, const char *path, int *status);

/* Wait until rota-credd is done with an upload or a test: `what` is the member of the request with its number. Returns the answer; NULL
 * after a message, with the exit status in *status. */
json_t *upload_wait(const char *what, json_int_t number, int *status);

#endif
