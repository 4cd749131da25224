/* call_seen.c - names the file in which `rota` keeps the newest incarnation of the database that its user has seen: one file for
 * each user and jobmgrd.
 *
 * Called by: call.c when the configuration is loaded. Invariants: the file does not exist while the database has its first
 * incarnation, before it was ever promoted or restored. */
#include "bin/rota/call/call_seen.h"

#include <stdlib.h>
#include <string.h>

#include "lib/db_seen.h"
#include "lib/err.h"

void call_seen_keep(const struct conf *conf)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const char *where = *conf->gate_url ? conf->gate_url : conf->gate_socket;
	char *folder = NULL, *name = xstrdup(where), *path;

	if (state && *state == '/')
		folder = xasprintf("%s/rota-seen", state);
	else if (home && *home == '/')
		folder = xasprintf("%s/.local/state/rota-seen", home);
	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '_';
	if (folder) {
		path = xasprintf("%s/%s", folder, name);
		db_seen_keep(path, false);
		free(path);
	}
	free(name);
	free(folder);
}
