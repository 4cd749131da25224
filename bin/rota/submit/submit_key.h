/* submit_key.h - keys of submissions, by which a submission that is repeated makes one job. */
#ifndef ROTA_BIN_SUBMIT_KEY_H
#define ROTA_BIN_SUBMIT_KEY_H

#include <jansson.h>

/* Returns a new key: the time in milliseconds and 80 random bits, as hex; malloc'ed. Keys that are made at about the same time
 * are neighbours in the database's index. */
char *submit_key_new(void);

/* Add `key`, the client key that the user gave, to a request that makes one job; if it is NULL, add a new key. */
void submit_key_add(json_t *request, const char *key);

#endif
