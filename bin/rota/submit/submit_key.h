/* submit_key.h - keys of submissions, by which a submission that is repeated makes one job. */
#ifndef ROTA_BIN_SUBMIT_KEY_H
#define ROTA_BIN_SUBMIT_KEY_H

#include <jansson.h>

/* Returns a new key: the time in milliseconds and 80 random bits, as hex; malloc'ed. Keys of the same time are neighbours in
 * the index. */
char *submit_key_new(void);

/* Add the key of the user to a request that makes one job; a new one if `key` is NULL. */
void submit_key_add(json_t *request, const char *key);

#endif
