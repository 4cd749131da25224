/* instance_parts.c - finds the processes of a private instance on this machine, whether or not jobmgrd answers.
 *
 * Called by: `rota status`, `rota up --json` and `rota down --json`.
 * Invariants:
 * - A pid counts only while the daemon holds its lock.
 * - No file that the account of the instance could have replaced is executed, since the caller may be root. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/instance/instance.h"
#include "lib/daemon.h"

const char *instance_munged_program(void)
{
	return access("/usr/sbin/munged", X_OK) ? "/usr/local/sbin/munged" : "/usr/sbin/munged";
}

/* Returns the version that `munged --version` prints, as in "munge-0.5.15 (2022-06-22)"; "" if it prints none. */
static char *munged_version(void)
{
	char *command = xasprintf("%s --version 2>/dev/null", instance_munged_program()), version[32] = "";
	FILE *out = popen(command, "re");

	if (out && fscanf(out, "munge-%31s", version) != 1)
		version[0] = '\0';
	if (out)
		pclose(out);
	free(command);
	return xstrdup(version);
}

/* Append one process to the list. Frees `version`. */
static void part_add(json_t *parts, const char *role, const char *name, const char *node, pid_t pid, char *version)
{
	json_array_append_new(parts, json_pack("{ss ss* ss* so ss*}", "role", role, "name", name, "node", node, "pid",
					       pid ? json_integer(pid) : json_null(), "version", version[0] ? version : NULL));
	free(version);
}

/* Returns the version of PostgreSQL that made the data folder; "" if there is none. */
static char *postgres_version(const struct instance *in)
{
	char *path = instance_path(in, "pg/data/PG_VERSION"), version[32] = "";
	FILE *file = fopen(path, "re");

	if (file && fscanf(file, "%31s", version) != 1)
		version[0] = '\0';
	if (file)
		fclose(file);
	free(path);
	return xstrdup(version);
}

static void launchers_add(json_t *parts, const struct instance *in)
{
	char **nodes = instance_nodes(in);

	for (char **node = nodes; *node; node++) {
		char *path = instance_path(in, "node/%s/launcher.pid", *node);

		part_add(parts, "launcher", NULL, *node, instance_launcher(in, *node), daemon_version(path));
		free(path);
	}
	instance_names_free(nodes);
}

static void daemons_add(json_t *parts, const struct instance *in, const char *kind)
{
	char **names = instance_daemons(in, kind);

	for (char **name = names; *name; name++) {
		char *path = instance_path(in, "run/%s.pid", *name);

		part_add(parts, kind, *name + strlen(kind) + 1, NULL, instance_daemon(in, *name), daemon_version(path));
		free(path);
	}
	instance_names_free(names);
}

json_t *instance_parts(const struct instance *in)
{
	json_t *parts = json_array();

	daemons_add(parts, in, "jobmgrd");
	daemons_add(parts, in, "nodemgrd");
	daemons_add(parts, in, "runnerd");
	daemons_add(parts, in, "rota-credd");
	part_add(parts, "PostgreSQL", NULL, NULL, instance_postgres(in), postgres_version(in));
	part_add(parts, "munged", NULL, NULL, instance_munged(in), munged_version());
	launchers_add(parts, in);
	return parts;
}
