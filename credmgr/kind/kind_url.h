/* kind_url.h - checks whether this host may send the secret of a user to a URL. */
#ifndef ROTA_CREDMGR_KIND_URL_H
#define ROTA_CREDMGR_KIND_URL_H

#include <stdbool.h>

#include "lib/err.h"

/* Returns true if the URL is https and begins with one of the comma-separated prefixes. A prefix must end at the end of a part of
 * the URL, so https://a.org is no prefix of https://a.org.evil.com. plain: the URL may also be http, to this host. */
bool kind_url_allowed(const char *url, const char *prefixes, bool plain, struct err *e);

#endif
