/* down.c - `rota down`: ends every process that `rota up` started, in the order of their dependencies.
 *
 * Launchers end first: each launcher ends its keepers, which run their epilogs, and procmgrd reports the ends. A node whose
 * launcher died while keepers live gets a new launcher first. nodemgrd, runnerd, rota-credd, jobmgrd, PostgreSQL and munged follow. */
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/instance/process.h"
#include "bin/rota/line/verb.h"

enum { DOWN_PURGE = 256, DAEMON_SECONDS = 10, POSTGRES_SECONDS = 30, MOST_TRIES = 3 };

const struct verb_option down_options[] = {
	{DOWN_PURGE, "purge", NULL, "also remove the state folder: jobs, accounting, keys, logs"},
	{'y', "yes", NULL, "do not ask before --purge removes the folder"},
	{'q', "quiet", NULL, "print only errors"},
	VERB_OPTION_JSON_OWN,
	{0, NULL, NULL, NULL},
};

static pid_t alive_launcher(const struct instance *in, const void *node)
{
	return instance_launcher(in, node);
}

static pid_t alive_daemon(const struct instance *in, const void *name)
{
	return instance_daemon(in, name);
}

static pid_t alive_postgres(const struct instance *in, const void *arg)
{
	const pid_t *pid = arg;

	return instance_postgres_is(in, *pid) ? *pid : 0;
}

static pid_t alive_munged(const struct instance *in, const void *arg)
{
	(void)arg;
	return instance_munged(in);
}

/* End one process of the instance, and print a message. */
static bool part_end(const struct instance *in, const char *what, pid_t pid, int signal, int seconds,
		     pid_t (*alive)(const struct instance *in, const void *arg), const void *arg)
{
	if (!pid)
		return true;
	if (!process_end(in, pid, signal, seconds, alive, arg)) {
		fprintf(stderr, "rota: could not end %s (pid %d)\n", what, (int)pid);
		return false;
	}
	instance_say(in, "ended %s (pid %d)", what, (int)pid);
	return true;
}

/* Returns true if keepers of the node may be alive: each has a folder in the node's spool. */
static bool spool_used(const struct instance *in, const char *node)
{
	char *path = instance_path(in, "node/%s/spool", node);
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool used = false;

	free(path);
	while (dir && !used && (entry = readdir(dir)))
		used = entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return used;
}

static bool launcher_runs(const struct instance *in, const void *node)
{
	return instance_launcher(in, node) > 0;
}

/* Start a launcher for a node whose launcher is gone while keepers may be alive. */
static bool launcher_again(const struct instance *in, const char *node, struct err *e)
{
	char *program = xasprintf("%s/rota-launcher", in->daemons), *config = instance_path(in, "etc/rota.conf");
	char *name = xasprintf("launcher.%s", node);
	const char *argv[] = {program, "--config", config, "--node", node, NULL};
	pid_t pid = process_start(in, name, argv, NULL, e);
	bool ok = pid > 0 && process_await(in, name, pid, DAEMON_SECONDS, launcher_runs, node, e);

	free(name);
	free(config);
	free(program);
	return ok;
}

/* Signal all launchers to end the steps of their nodes, then wait for each launcher to end. */
static bool nodes_end_once(const struct instance *in, char **nodes, size_t count)
{
	int wait_s = in->conf.node_grace + in->conf.node_hook_timeout + DAEMON_SECONDS;
	pid_t *pids = xcalloc(count + 1, sizeof(*pids));
	bool ok = true;

	for (size_t i = 0; i < count; i++) {
		struct err e = {0};

		if (!launcher_runs(in, nodes[i]) && spool_used(in, nodes[i]) && !launcher_again(in, nodes[i], &e))
			call_error(&e);
		if (spool_used(in, nodes[i]))
			instance_say(in, "ending the steps on node %s", nodes[i]);
		pids[i] = instance_launcher(in, nodes[i]);
		if (pids[i])
			kill(pids[i], SIGUSR1);
	}
	for (size_t i = 0; i < count; i++) {
		char *what = xasprintf("node %s", nodes[i]);

		ok = part_end(in, what, pids[i], 0, wait_s, alive_launcher, nodes[i]) && ok;
		free(what);
	}
	free(pids);
	return ok;
}

/* End all launchers with their keepers, and repeat until no keeper can be left: a launcher may die before it handles the
 * signal. */
static bool nodes_end(const struct instance *in)
{
	char **nodes = instance_nodes(in);
	bool ok = true, left = true;
	size_t count = 0;

	while (nodes[count])
		count++;
	for (int tries = 0; left && tries < MOST_TRIES; tries++) {
		ok = nodes_end_once(in, nodes, count);
		left = false;
		for (size_t i = 0; i < count; i++)
			left = left || spool_used(in, nodes[i]);
	}
	if (left)
		fputs("rota: could not end all steps; see the logs of their nodes\n", stderr);
	instance_names_free(nodes);
	return ok && !left;
}

/* End every daemon of a kind, such as jobmgrd. */
static bool daemons_end(const struct instance *in, const char *kind)
{
	char **names = instance_daemons(in, kind);
	bool ok = true;

	for (char **name = names; *name; name++)
		ok = part_end(in, *name, instance_daemon(in, *name), SIGTERM, DAEMON_SECONDS, alive_daemon, *name) && ok;
	instance_names_free(names);
	return ok;
}

static bool all_end(const struct instance *in)
{
	bool ok = nodes_end(in);
	pid_t postgres;

	ok = daemons_end(in, "nodemgrd") && ok;
	ok = daemons_end(in, "runnerd") && ok;
	ok = daemons_end(in, "rota-credd") && ok;
	ok = daemons_end(in, "jobmgrd") && ok;
	postgres = instance_postgres(in);
	ok = part_end(in, "PostgreSQL", postgres, SIGINT, POSTGRES_SECONDS, alive_postgres, &postgres) && ok;
	return part_end(in, "munged", instance_munged(in), SIGTERM, DAEMON_SECONDS, alive_munged, NULL) && ok;
}

/* Ask the user whether to remove the state folder. Returns true if the user agrees. */
static bool down_is_agreed(const struct instance *in)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO)) {
		fprintf(stderr, "rota: --purge removes %s; without a terminal, add --yes\n", in->home);
		return false;
	}
	fprintf(stderr, "Remove %s with all its jobs and accounting? [y/N] ", in->home);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Remove the state folder. Never follows a link or leaves the file system. */
static bool down_purge(const struct instance *in, struct err *e)
{
	char *roots[] = {in->home, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL);
	FTSENT *entry;
	bool ok = true;

	if (!tree)
		return err_sys(e, "could not read \"%s\"", in->home);
	while (ok && (entry = fts_read(tree))) {
		bool folder = entry->fts_info == FTS_DP;

		if (entry->fts_info == FTS_D)
			continue;
		if ((folder ? rmdir(entry->fts_accpath) : unlink(entry->fts_accpath)) && errno != ENOENT)
			ok = err_sys(e, "could not remove \"%s\"", entry->fts_path);
	}
	fts_close(tree);
	if (ok)
		instance_say(in, "removed %s", in->home);
	return ok;
}

static bool down_stop(struct instance *in, bool remove, bool yes, struct err *e)
{
	if (!in->made) {
		instance_say(in, "there is no instance in %s", in->home);
		return true;
	}
	if (!instance_lock(in, e))
		return false;
	if (remove && !yes && !down_is_agreed(in))
		return err_set(e, "no process was ended and nothing was removed");
	if (!all_end(in))
		return err_set(e, "some processes of the instance still run");
	return !remove || down_purge(in, e);
}

/* Print the processes that were ended as {"home", "ended", "removed"}. */
static void json_print(const struct instance *in, json_t *before, bool removed)
{
	json_t *part, *all = json_pack("{ss s[] sb}", "home", in->home, "ended", "removed", removed && in->made);
	size_t i;

	json_array_foreach (before, i, part)
		if (json_is_integer(json_object_get(part, "pid")))
			json_array_append(json_object_get(all, "ended"), part);
	json_dumpf(all, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(all);
}

int verb_down(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	bool remove = false, yes = false, quiet = false, json = false, ok;
	json_t *before = NULL;
	struct instance in;
	struct err e = {0};

	for (int id; (id = verb_next(&scan));) {
		remove |= id == DOWN_PURGE;
		yes |= id == 'y';
		quiet |= id == 'q';
		json |= id == VERB_JSON;
	}
	verb_operands(&scan, 0, 0);
	ok = instance_open(&in, NULL, &e);
	in.quiet = quiet;
	before = ok && json ? instance_parts(&in) : NULL;
	ok = ok && down_stop(&in, remove, yes, &e);
	if (!ok)
		call_error(&e);
	else if (json)
		json_print(&in, before, remove);
	json_decref(before);
	instance_close(&in);
	return ok ? EXIT_OK : EXIT_REFUSED;
}
