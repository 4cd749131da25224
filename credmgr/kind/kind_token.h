/* kind_token.h - credentials that are a bearer token: the token as text, or, if it can be renewed, a JSON object with access_token,
 * refresh_token, and perhaps client_id, client_secret, expires_in or expires_at. */
#ifndef ROTA_CREDMGR_KIND_TOKEN_H
#define ROTA_CREDMGR_KIND_TOKEN_H

#include <jansson.h>

#include "credmgr/kind/kind.h"

bool kind_token_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
			struct err *e);

/* Returns the form in which a token that can be renewed is stored; empty if the token cannot be renewed. */
struct kind_secret kind_token_normal(const struct kind_secret *secret, const struct kind_options *options);

/* Returns what is stored of such an object: the token on a line of its own, which jobs get, and the object. */
struct kind_secret kind_token_store(const json_t *object);

/* Read the JSON object of a token that can be renewed, as its owner gives it or as kind_token_store() made it. Returns NULL with an error if it is none. */
json_t *kind_token_read(const struct kind_secret *secret, struct err *e);

/* Is it a bearer token: printable characters without space? */
bool kind_token_valid(const char *token, size_t size);

/* Returns the time in seconds that a member such as expires_in says, as a number or as digits; 0: it says none. */
int64_t kind_token_seconds(const json_t *value);

/* Fill the facts of an object that kind_token_read() accepts. Fails if its token has expired. */
bool kind_token_facts(const json_t *object, int64_t now, struct kind_facts *facts, struct err *e);

#endif
