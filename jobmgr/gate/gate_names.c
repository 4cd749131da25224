/* gate_names.c - the names under which clients may call this jobmgrd, from gate.names, or the host's name and gate.url.
 *
 * Called by: gate_auth.c.
 * Invariants:
 * - A list has at least one name, so an error message can have a name of this jobmgrd.
 * - No name is looked up: the name service may not answer, and its answers are not trusted. */
#include "jobmgr/gate/gate_names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/http_url.h"

static const char separators[] = ", \t";

/* Append a name to a list of `count` names, with a NULL after it. Returns the reallocated list. */
static char **names_add(char **names, size_t count, const char *name, size_t length)
{
	names = xrealloc(names, (count + 2) * sizeof *names);
	names[count] = xstrndup(name, length);
	names[count + 1] = NULL;
	return names;
}

static char **names_split(const char *text)
{
	char **names = NULL;
	size_t count = 0, length;

	for (text += strspn(text, separators); *text; text += length, text += strspn(text, separators)) {
		length = strcspn(text, separators);
		names = names_add(names, count++, text, length);
	}
	return names;
}

char **gate_names_new_remote(const struct conf *conf)
{
	char host[HOST_NAME_MAX + 1] = "", *url = NULL, *port = NULL, **names = names_split(conf->gate_names);
	size_t count = 0, label;

	if (names)
		return names;
	gethostname(host, sizeof host - 1);
	label = strcspn(host, ".");
	names = names_add(names, count++, host, strlen(host));
	if (host[label])
		names = names_add(names, count++, host, label);
	if (*conf->gate_url && http_url_split(conf->gate_url, &url, &port, NULL)) {
		names = names_add(names, count, url, strlen(url));
		free(url);
		free(port);
	}
	return names;
}

char **gate_names_new_local(const struct conf *conf)
{
	char *name = http_url_socket_name(conf), **names = names_add(NULL, 0, name, strlen(name));

	free(name);
	return names;
}

void gate_names_free(char **names)
{
	for (size_t i = 0; names[i]; i++)
		free(names[i]);
	free(names);
}
