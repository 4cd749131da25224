/* words.h - values and operands of a command line as JSON for a request. */
#ifndef ROTA_BIN_WORDS_H
#define ROTA_BIN_WORDS_H

#include <jansson.h>

#include "bin/rota/line/verb.h"

/* Return as JSON: the value of the current option as a string, that value as a list separated at commas, or all operands as a
 * list. Text that is not UTF-8 is misuse. */
json_t *words_text(const struct verb_scan *scan);
json_t *words_list(const struct verb_scan *scan);
json_t *words_operands(const struct verb_scan *scan);

/* Return the value of the current option, or all operands, as a list of node names with ranges expanded. */
json_t *words_hosts(const struct verb_scan *scan);
json_t *words_nodes(const struct verb_scan *scan);

/* Returns false, after printing an error, if the answer is empty because the request names a user that this machine does not
 * have. */
bool words_found(const json_t *request, const json_t *answer);

/* Returns the user name of the caller. */
const char *words_me(void);

#endif
