/* words.h - values and operands of a command line as JSON for a request. */
#ifndef ROTA_BIN_WORDS_H
#define ROTA_BIN_WORDS_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/line/verb.h"

/* Return as JSON: the value of the current option as a string, that value as a list separated at commas, or all operands as a
 * list. Text that is not UTF-8 is misuse. */
json_t *words_text(const struct verb_scan *scan);
json_t *words_list(const struct verb_scan *scan);
json_t *words_operands(const struct verb_scan *scan);

/* Return the value of the current option, or all operands, as a list of node names with ranges expanded. */
json_t *words_hosts(const struct verb_scan *scan);
json_t *words_nodes(const struct verb_scan *scan);

/* The value that an option gives a member of a request: the option's value as text or as a list, a list of states (also in
 * Slurm's spelling), true, or the login name of the caller. */
enum words_form { WORDS_TEXT, WORDS_LIST, WORDS_STATES, WORDS_TRUE, WORDS_ME };

/* A row of the table of a verb's options that are members of its request. The table ends with a row without a key. */
struct words_member {
	int id;
	const char *key;
	enum words_form form;
};

/* Set the member of the request for the current option. Returns false if the table does not have the option. */
bool words_member_set(const struct verb_scan *scan, int id, const struct words_member *table, json_t *request);

/* Returns false, after printing an error, if the answer is empty because the request names a user that this machine does not
 * have. */
bool words_found(const json_t *request, const json_t *answer);

/* Returns the user name of the caller. */
const char *words_me(void);

#endif
