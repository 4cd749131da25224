/* forward.h - credentials that a submission takes along (--cred=NAME:forward). */
#ifndef ROTA_BIN_FORWARD_H
#define ROTA_BIN_FORWARD_H

#include <jansson.h>

/* Send a submission, and free the request. If jobmgrd asks for credentials that it takes along, upload them first. Returns the answer; NULL
 * after a message, with the exit status in *status. */
json_t *forward_submit(json_t *request, int *status);

#endif
