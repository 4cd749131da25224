/* upload.h - sends a secret of the caller to rota-credd, sealed by this process, so that neither jobmgrd nor the database can
 * read it. */
#ifndef ROTA_BIN_UPLOAD_H
#define ROTA_BIN_UPLOAD_H

#include <jansson.h>

/* Read the secret from the file `path`; "-": standard input; NULL: the default of the kind (of krb5: the caller's ticket cache).
 * Seal it, send it with `request` (name, kind and options of the credential), and wait until rota-credd has stored it. Frees the
 * request. Returns the credential as the database has it; NULL after a message, with the exit status in *status. */
json_t *upload_credential(json_t *request, const char *path, int *status);

/* Wait until rota-credd has handled the upload or test with this number. `what`: name of the request's member for the number.
 * Returns the answer; NULL after a message, with the exit status in *status. */
json_t *upload_wait(const char *what, json_int_t number, int *status);

#endif
