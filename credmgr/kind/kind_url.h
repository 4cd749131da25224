/* kind_url.h - to which URLs this host may send the secret of a user. */
#ifndef ROTA_CREDMGR_KIND_URL_H
#define ROTA_CREDMGR_KIND_URL_H

#include <stdbool.h>

#include "lib/err.h"

/* Is the URL https, and does it begin with one of the prefixes, which commas separate? A prefix ends where a part of the URL does, so
 * https://a.org is no prefix of https://a.org.evil.com. plain: it may also be http, to this host. */
bool kind_url_allowed(const char *url, const char *prefixes, bool plain, struct err *e);

#endif
