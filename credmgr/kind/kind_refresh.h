/* kind_refresh.h - renews tokens by the refresh grant of OAuth 2 (RFC 6749, section 6). */
#ifndef ROTA_CREDMGR_KIND_REFRESH_H
#define ROTA_CREDMGR_KIND_REFRESH_H

#include <jansson.h>

#include "credmgr/kind/kind.h"

bool kind_refresh_renew(const struct kind_secret *secret, const struct kind_options *options, struct kind_secret *renewed,
			struct kind_facts *facts, struct err *e);

/* Copy the tokens in the answer of a token service, with HTTP status `status` and body `body`, into the object of a token. The
 * error message has none of its secrets. */
bool kind_refresh_answer(json_t *object, int status, const char *body, size_t size, int64_t now, struct err *e);

#endif
