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

/* Returns the form in which the object of a renewable token is stored: the token on a line of its own, which jobs get, and the
 * object. */
struct kind_secret kind_token_store(const json_t *object);

/* Read the JSON object of a token that can be renewed, as its owner gives it or as kind_token_store() made it. Returns NULL with
 * an error if the secret has no such object. */
json_t *kind_token_read(const struct kind_secret *secret, struct err *e);

/* Returns true if `token` has only printable characters and no space, as a bearer token must. */
bool kind_token_valid(const char *token, size_t size);

/* Returns the seconds in a member such as expires_in, which is a JSON number or a text of digits; 0 for anything else. */
int64_t kind_token_seconds(const json_t *value);

/* Fill the facts of an object that kind_token_read() accepts. Fails if its token has expired. */
bool kind_token_facts(const json_t *object, int64_t now, struct kind_facts *facts, struct err *e);

#endif
