/* up.c - `rota up`: makes and starts a private instance of Rota.
 *
 * The stages have a fixed order: folders, keys, configuration, munged, PostgreSQL and its schema, jobmgrd, nodemgrd, runnerd,
 * nodes. Each stage keeps existing files and running processes. So a second `rota up` restarts what died and changes nothing
 * else. */
#include "bin/rota/instance/up.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/instance/process.h"
#include "bin/rota/line/verb.h"
#include "lib/auth.h"

enum {
	UP_ACCOUNT = 256,
	UP_NODES,
	UP_CPUS,
	UP_MEM,
	UP_NAME,
	UP_SET,
	UP_PROLOG,
	UP_EPILOG,
	UP_CONTROLLER_PROLOG,
	UP_CONTROLLER_EPILOG,
	MOST_SETTINGS = 64,
	MUNGED_SECONDS = 15
};

const struct verb_option up_options[] = {
	{UP_NODES, "nodes", "N", "have at least N nodes, named n1 to nN (default: 1 in a new instance)"},
	{UP_CPUS, "cpus", "C", "CPUs of each node (default: those of the machine)"},
	{UP_MEM, "mem", "SIZE",
	 "memory of each node, as 4G; a number without a unit is MiB (default: an equal part of the machine's)"},
	{UP_NAME, "name", "NAME", "name of the instance; tasks see it as ROTA_CLUSTER (default: rota)"},
	{UP_ACCOUNT, "account", "NAME", "as root: the account of PostgreSQL and the daemons (default: rota)"},
	{UP_PROLOG, "site-prolog", "FILE", "program to run before the tasks of each step, as the user of the launchers"},
	{UP_EPILOG, "site-epilog", "FILE", "program to run after the tasks of each step"},
	{UP_CONTROLLER_PROLOG, "controller-prolog", "FILE", "program that runnerd runs before each attempt of a step"},
	{UP_CONTROLLER_EPILOG, "controller-epilog", "FILE", "program that runnerd runs after each attempt of a step"},
	{UP_SET, "set", "SECTION.KEY=VALUE",
	 "a setting of rota.conf, for example node.grace=5; may be repeated; running daemons read it at their next start"},
	{'q', "quiet", NULL, "print only errors"},
	VERB_OPTION_JSON_OWN,
	{0, NULL, NULL, NULL},
};

/* The command line of `rota up`. */
struct up_line {
	struct up_wish wish;
	const char *account;
	bool quiet, json;
	char *settings[MOST_SETTINGS]; /* settings for rota.conf: key=value, malloc'ed */
	int count;
};

static void setting_add(const struct verb *verb, struct up_line *line, const char *key, const char *value)
{
	if (line->count == MOST_SETTINGS)
		verb_misuse(verb, "more than %d settings", MOST_SETTINGS);
	line->settings[line->count++] = key ? xasprintf("%s=%s", key, value) : xstrdup(value);
}

/* Add a setting with the absolute path of a hook, since daemons run in other folders. */
static void hook_add(const struct verb *verb, struct up_line *line, const char *key, const char *value)
{
	char *path = *value ? realpath(value, NULL) : xstrdup("");

	if (!path)
		verb_misuse(verb, "there is no file \"%s\"", value);
	setting_add(verb, line, key, path);
	free(path);
}

/* Keys of the settings for options UP_PROLOG to UP_CONTROLLER_EPILOG, in the order of these options. */
static const char *const hook_keys[] = {"node.site_prolog", "node.site_epilog", "controller.prolog", "controller.epilog"};

static void line_read(struct verb_scan *scan, struct up_line *line)
{
	for (int id; (id = verb_next(scan));) {
		switch (id) {
		case UP_NODES:
			line->wish.nodes = (int)verb_number(scan, 1, 9999);
			break;
		case UP_CPUS:
			line->wish.cpus = (int)verb_number(scan, 1, 65536);
			break;
		case UP_MEM:
			line->wish.mem_mb = format_size_parse(scan->value);
			if (line->wish.mem_mb <= 0)
				verb_misuse(scan->verb, "--mem needs a size as 512M or 4G, not \"%s\"", scan->value);
			break;
		case UP_ACCOUNT:
			line->account = scan->value;
			break;
		case UP_NAME:
			setting_add(scan->verb, line, "instance.name", scan->value);
			break;
		case UP_SET:
			if (!strchr(scan->value, '='))
				verb_misuse(scan->verb, "--set needs SECTION.KEY=VALUE, not \"%s\"", scan->value);
			setting_add(scan->verb, line, NULL, scan->value);
			break;
		case UP_PROLOG:
		case UP_EPILOG:
		case UP_CONTROLLER_PROLOG:
		case UP_CONTROLLER_EPILOG:
			hook_add(scan->verb, line, hook_keys[id - UP_PROLOG], scan->value);
			break;
		case VERB_JSON:
			line->json = true;
			break;
		default:
			line->quiet = true;
		}
	}
	verb_operands(scan, 0, 0);
}

static bool any_jobmgrd_runs(const struct instance *in)
{
	char **names = instance_daemons(in, "jobmgrd");
	bool any = false;

	for (char **name = names; *name && !any; name++)
		any = instance_daemon(in, *name) > 0;
	instance_names_free(names);
	return any;
}

/* Write the settings of the command line to rota.conf if they change anything. */
static bool conf_make(struct instance *in, const struct up_line *line, struct err *e)
{
	char *path = instance_path(in, "etc/rota.conf");
	bool ok = true;

	if (!in->made)
		up_conf_new(in);
	for (int i = 0; ok && i < line->count; i++) {
		char *value = strchr(line->settings[i], '=');

		*value = '\0';
		ok = up_conf_set(&in->conf, line->settings[i], value + 1, e);
	}
	if (ok && (!in->made || line->count)) {
		ok = conf_save(&in->conf, path, e);
		if (ok && in->made && any_jobmgrd_runs(in))
			instance_say(in, "the settings are in rota.conf; running daemons read them at their next start (rota "
					 "down, rota up)");
	}
	free(path);
	return ok;
}

/* Returns true if munged makes a credential. */
static bool munged_answers(const struct instance *in, const void *arg)
{
	struct err e = {0};
	char *credential = auth_encode(in->conf.munge_socket, "", &(struct auth_request){"GET", "/", "", 0}, &e);
	bool ok = credential != NULL;

	(void)arg;
	free(credential);
	return ok;
}

static pid_t munged_find(const struct instance *in, const void *arg)
{
	(void)arg;
	return instance_munged(in);
}

bool up_munged(const struct instance *in, struct err *e)
{
	char *key = xasprintf("--key-file=%s/etc/munge.key", in->home);
	char *socket = xasprintf("--socket=%s", in->conf.munge_socket);
	char *pid_file = xasprintf("--pid-file=%s/run/munged.pid", in->home);
	char *seed = xasprintf("--seed-file=%s/run/munged.seed", in->home);
	char *log = xasprintf("--log-file=%s/run/munged.log", in->home);
	/* --force, because munged refuses a folder that others cannot reach, such as a private home */
	const char *argv[] = {instance_munged_program(),
			      "--foreground",
			      "--force",
			      key,
			      socket,
			      pid_file,
			      seed,
			      log,
			      "--origin=127.0.0.1",
			      NULL};
	bool ok = process_have(in,
			       &(struct process_part){.what = "munged",
						      .log = "munged",
						      .argv = argv,
						      .find = munged_find,
						      .ready = munged_answers,
						      .seconds = MUNGED_SECONDS},
			       e);

	free(log);
	free(seed);
	free(pid_file);
	free(socket);
	free(key);
	return ok;
}

/* Run all stages of `rota up`. */
static bool stages(struct instance *in, const struct up_line *line, struct err *e)
{
	return up_reach(in, e) && up_folders(in, e) && instance_lock(in, e) && up_keys(in, e) && conf_make(in, line, e) &&
	       up_accounts(in, e) && up_credential_keys(in, &line->wish, e) && up_munged(in, e) &&
	       up_database(in, &line->wish, e) && up_daemons(in, e) && up_nodes(in, &line->wish, e);
}

/* Print the instance as {"name", "home", "gate", "processes", "limits"}. */
static void up_print_json(const struct instance *in)
{
	json_t *all = json_pack("{ss ss ss so so}", "name", in->conf.instance_name, "home", in->home, "gate",
				in->conf.gate_socket, "processes", instance_parts(in), "limits", up_limits(in));

	json_dumpf(all, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(all);
}

int verb_up(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct up_line line = {0};
	struct instance in;
	struct err e = {0};
	bool ok;

	line_read(&scan, &line);
	umask(022);
	ok = instance_open(&in, line.account, &e);
	in.quiet = line.quiet;
	ok = ok && stages(&in, &line, &e);
	if (ok)
		up_limits_say(&in);
	if (ok)
		instance_say(&in, "instance \"%s\" is up in %s", in.conf.instance_name, in.home);
	else
		call_error(&e);
	if (ok && line.json)
		up_print_json(&in);
	for (int i = 0; i < line.count; i++)
		free(line.settings[i]);
	instance_close(&in);
	return ok ? EXIT_OK : EXIT_REFUSED;
}
