/* kind_url.c - the list of allowed token services (kind_url.h).
 *
 * Called by: kind_refresh.c, kind_token.c.
 * Invariants:
 * - A URL that curl could parse in another way than this file is refused: one with an account, a backslash, a dot segment or an
 *   escaped dot. */
#include "credmgr/kind/kind_url.h"

#include <stddef.h>
#include <string.h>

enum { URL_LONGEST = 2000 };

/* Returns true if no segment of the path is "." or "..". */
static bool url_path_straight(const char *path)
{
	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		size_t dots = strspn(at + 1, ".");

		if ((dots == 1 || dots == 2) && strchr("/?", at[1 + dots]))
			return false;
	}
	return true;
}

/* Returns true if every program finds the same host and path in this URL. */
static bool url_plain(const char *url, const char *authority)
{
	static const char hard[] = "\"\\<>^`{|}#%";
	const char *end = authority + strcspn(authority, "/?");

	if (strlen(url) > URL_LONGEST || end == authority || memchr(authority, '@', (size_t)(end - authority)))
		return false;
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr(hard, *c))
			return false;
	return url_path_straight(end);
}

static bool url_is_local(const char *authority)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t size = strlen(names[i]);

		if (!strncmp(authority, names[i], size) && strchr(":/?", authority[size]))
			return true;
	}
	return false;
}

static bool url_has_prefix(const char *url, const char *prefix, size_t size)
{
	return size > 0 && !strncmp(url, prefix, size) && (prefix[size - 1] == '/' || strchr("/?", url[size]));
}

bool kind_url_allowed(const char *url, const char *prefixes, bool plain, struct err *e)
{
	bool https = !strncmp(url, "https://", 8), http = !strncmp(url, "http://", 7);
	const char *authority = url + (https ? 8 : http ? 7 : 0);

	if (!https && !(http && plain && url_is_local(authority)))
		return err_set(e, "the refresh URL has to begin with https://");
	if (!url_plain(url, authority))
		return err_set(e, "this refresh URL is malformed, or has an account, an escape or a dot segment");
	for (const char *at = prefixes ? prefixes : ""; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		const char *prefix = at + strspn(at, " ");
		size_t size = strcspn(prefix, ", ");

		if (url_has_prefix(url, prefix, size))
			return true;
	}
	return err_set(e,
		       "the site does not allow this refresh URL; ask an administrator to add it to credentials.refresh_allowed");
}
