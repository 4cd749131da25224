/* forward.h - submits a job with credentials that are uploaded with it (--cred=NAME:forward). */
#ifndef ROTA_BIN_FORWARD_H
#define ROTA_BIN_FORWARD_H

#include <jansson.h>

/* Send a submission, and free the request. If jobmgrd answers that credentials must be uploaded first, upload them and send it
 * again. Returns the answer; NULL after a message, with the exit status in *status. */
json_t *forward_submit(json_t *request, int *status);

#endif
