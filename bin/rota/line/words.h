/* words.h - words of a command line as JSON for a request. */
#ifndef ROTA_BIN_WORDS_H
#define ROTA_BIN_WORDS_H

#include <jansson.h>

#include "bin/rota/line/verb.h"

/* The option's value as a string; as a list, cut at commas; all operands as a list. What is not UTF-8 is misuse. */
json_t *words_text(const struct verb_scan *scan);
json_t *words_list(const struct verb_scan *scan);
json_t *words_operands(const struct verb_scan *scan);

/* The option's value, or all operands, as names of nodes, ranges written out. */
json_t *words_hosts(const struct verb_scan *scan);
json_t *words_nodes(const struct verb_scan *scan);

/* Whether an answer has something in it, or this machine knows at least the users that the request was about. Prints which one it
 * does not. */
bool words_found(const json_t *request, const json_t *answer);

/* The caller's name. */
const char *words_me(void);

#endif
