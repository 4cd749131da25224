/* up_nodes.c - starts jobmgrd, nodemgrd, rota-credd and runnerd, makes the nodes and starts their launchers, for `rota up`.
 *
 * Nodes and the partition are made through the HTTP API, as by an administrator. Existing nodes are kept. Each node of the
 * database is a node of this machine in a private instance, so each node gets a launcher. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/instance/process.h"
#include "bin/rota/instance/up.h"
#include "lib/clock.h"
#include "lib/hook_call.h"
#include "lib/mail.h"
#include "lib/text.h"

enum {
	READY_SECONDS = 30,
	NODES_A_CHANGE = 100, /* most nodes that one request makes or changes: other changes of nodes wait meanwhile */
	PROGRESS_MS = 2000,
	POLL_MS = 50,
	POLL_PART = 4 /* the pause after a poll of the nodes is so many times as long as the poll took */
};

/* A daemon that `rota up` starts with `--name 1`. */
struct daemon {
	char *name;
	struct err last; /* last error of a request to jobmgrd */
};

static pid_t daemon_find(const struct instance *in, const void *arg)
{
	return instance_daemon(in, ((const struct daemon *)arg)->name);
}

static bool daemon_runs(const struct instance *in, const void *arg)
{
	return daemon_find(in, arg) > 0;
}

static bool gate_answers(const struct instance *in, const void *arg)
{
	struct err *e = &((struct daemon *)arg)->last;
	json_t *answer = NULL;
	bool ok = call_try(&in->conf, "status", NULL, &answer, e);

	json_decref(answer);
	return ok;
}

/* Returns true if runnerd runs, and listens at the hook socket if the site has scripts: without them, it makes no such socket. */
static bool runner_serves(const struct instance *in, const void *arg)
{
	return daemon_runs(in, arg) && (!conf_has_scripts(&in->conf) || hook_call_listens(in->conf.hooks_socket));
}

/* Make sure that a daemon of this kind runs as `account`, and wait until `ready` returns true. */
static bool daemon_have(const struct instance *in, const char *kind, const char *account,
			bool (*ready)(const struct instance *in, const void *arg), struct err *e)
{
	char *program = xasprintf("%s/%s", in->daemons, kind), *config = instance_path(in, "etc/rota.conf");
	struct daemon daemon = {.name = xasprintf("%s-1", kind)};
	const char *argv[] = {program, "--config", config, "--name", "1", NULL};
	bool ok = process_have(in,
			       &(struct process_part){.what = kind,
						      .log = kind,
						      .argv = argv,
						      .account = account,
						      .find = daemon_find,
						      .ready = ready,
						      .arg = &daemon,
						      .seconds = READY_SECONDS},
			       e);

	if (!ok && daemon.last.message[0])
		fprintf(stderr, "rota: jobmgrd does not answer: %s\n", daemon.last.message);
	free(daemon.name);
	free(config);
	free(program);
	return ok;
}

/* Returns true if the configuration has work for runnerd. */
static bool runner_is_needed(const struct conf *conf)
{
	return *conf->controller_prolog || *conf->controller_epilog || conf_has_scripts(conf) || *conf->hooks_power_off ||
	       *conf->hooks_power_on || *conf->hooks_reboot || *conf->hooks_node_folder || mail_can_send(conf);
}

bool up_daemons(const struct instance *in, struct err *e)
{
	return daemon_have(in, "jobmgrd", in->account, gate_answers, e) &&
	       daemon_have(in, "nodemgrd", in->account, daemon_runs, e) &&
	       (!*in->conf.credentials_keys ||
		daemon_have(in, "rota-credd", conf_credentials_account(&in->conf), daemon_runs, e)) &&
	       (!runner_is_needed(&in->conf) ||
		(up_runner_files(in, e) && daemon_have(in, "runnerd", conf_controller_account(&in->conf), runner_serves, e)));
}

/* Make one change through the API verb `admin`. Frees `values`. jobmgrd makes changes by database sessions of their own, which
 * may connect later than its other sessions; until then it refuses changes with 08001 and does nothing. */
static bool object_change(const struct instance *in, const char *object, const char *action, const char *name, json_t *values,
			  struct err *e)
{
	json_t *answer = NULL;
	json_t *request = json_pack("{ss ss ss so}", "object", object, "action", action, "name", name, "values", values);
	bool ok = call_try(&in->conf, "admin", json_incref(request), &answer, e);

	for (int left = READY_SECONDS * 1000 / POLL_MS; !ok && strcmp(e->code, "08001") == 0 && left > 0; left--) {
		process_rest(POLL_MS);
		ok = call_try(&in->conf, "admin", json_incref(request), &answer, e);
	}
	json_decref(request);
	json_decref(answer);
	return ok;
}

/* Returns the object called `name` in a list, NULL if there is none. */
static const json_t *object_find(const json_t *list, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach (list, i, row)
		if (!strcmp(format_text(row, "name"), name))
			return row;
	return NULL;
}

/* Return the number of CPUs, and the memory in MiB, of this machine. */
static int machine_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static long machine_mem_mb(void)
{
	return (long)((double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE) / 1048576);
}

/* Returns the values of a node: the requested CPUs and memory, by default all CPUs and an equal share of the machine's memory. */
static json_t *node_values(const struct up_wish *wish)
{
	int cpus = wish->cpus ? wish->cpus : machine_cpus();
	long mem = wish->mem_mb ? wish->mem_mb : machine_mem_mb() / 20 * 19 / (wish->nodes ? wish->nodes : 1);
	bool fits = cpus <= machine_cpus() && mem <= machine_mem_mb();
	char text[2][24];

	snprintf(text[0], sizeof(text[0]), "%d", cpus);
	snprintf(text[1], sizeof(text[1]), "%ld", mem);
	return json_pack("{ss ss ss}", "cpus", text[0], "mem_mb", text[1], "hardware_check", fits ? "true" : "false");
}

/* Names of nodes that get the same change, separated by commas. */
struct names {
	char text[NODES_A_CHANGE * 8];
	int count;
};

/* Make (`is_new`) or change the nodes in `names`, and clear the list. */
static bool names_change(const struct instance *in, const struct up_wish *wish, struct names *names, bool is_new, struct err *e)
{
	json_t *values = node_values(wish);
	bool ok;

	if (is_new)
		json_object_set_new(values, "partitions", json_string("main"));
	if (is_new && in->conf.launcher_virtual > 0)
		json_object_set_new(values, "login", json_string(UP_VIRTUAL_NAME));
	ok = object_change(in, "node", is_new ? "create" : "change", names->text, values, e);
	*names = (struct names){0};
	return ok;
}

/* Make the requested nodes that do not exist. Change existing nodes only if CPUs or memory were requested. */
static bool nodes_make(const struct instance *in, const struct up_wish *wish, const json_t *existing, struct err *e)
{
	int count = wish->nodes ? wish->nodes : json_array_size(existing) ? 0 : 1;
	struct names names[2] = {0}; /* names of the nodes to change, and of the nodes to make */
	bool ok = true;

	if (!count && (wish->cpus || wish->mem_mb)) {
		err_set(e, "--cpus and --mem need --nodes, because the instance has nodes already");
		return err_hint(e, "Say how many nodes to change: --nodes=2 changes n1 and n2.");
	}
	for (int i = 1; ok && i <= count; i++) {
		char name[16];
		bool is_new;

		snprintf(name, sizeof(name), "n%d", i);
		is_new = object_find(existing, name) == NULL;
		if (!is_new && !wish->cpus && !wish->mem_mb)
			continue;
		if (names[is_new].count++)
			strcat(names[is_new].text, ",");
		strcat(names[is_new].text, name);
		if (names[is_new].count == NODES_A_CHANGE)
			ok = names_change(in, wish, &names[is_new], is_new, e);
	}
	for (int is_new = 0; is_new < 2; is_new++)
		ok = ok && (!names[is_new].count || names_change(in, wish, &names[is_new], is_new, e));
	return ok;
}

/* Request a list from jobmgrd. Returns NULL with an error on failure. */
static json_t *objects_list(const struct instance *in, const char *verb, struct err *e)
{
	json_t *answer = NULL, *rows;

	if (!call_try(&in->conf, verb, NULL, &answer, e))
		return NULL;
	rows = json_incref(json_object_get(answer, verb));
	json_decref(answer);
	return rows;
}

/* Start the launcher of one node. If the launcher runs already, add the node to `seen` instead. */
static bool launcher_start(const struct instance *in, const char *node, json_t *seen, struct err *e)
{
	char *program = xasprintf("%s/rota-launcher", in->daemons), *config = instance_path(in, "etc/rota.conf");
	char *name = xasprintf("launcher.%s", node);
	const char *argv[] = {program, "--config", config, "--node", node, NULL};
	pid_t pid = instance_launcher(in, node);

	if (pid) {
		instance_say(in, "node %s runs (launcher pid %d)", node, (int)pid);
		json_object_set_new(seen, node, json_true());
	} else {
		pid = process_start(in, name, argv, NULL, e);
		if (pid > 0)
			instance_say(in, "node %s started (launcher pid %d)", node, (int)pid);
	}
	free(name);
	free(config);
	free(program);
	return pid > 0;
}

/* Write the nodes that do not serve yet to `text`, for people; "" if all serve. Drained nodes count as serving, since an
 * administrator drained them, and so do those that are being powered off. Returns their number. */
static size_t nodes_missing(const json_t *nodes, char *text, size_t size)
{
	const json_t *row;
	size_t i, used = 0, missing = 0;

	text[0] = '\0';
	json_array_foreach (nodes, i, row) {
		const char *state = format_text(row, "state");
		const char *reason = json_string_value(json_object_get(row, "reason"));
		const char *name = format_text(row, "name");

		if (!strcmp(state, "up") || !strcmp(state, "drain") || !strcmp(state, "powering_off"))
			continue;
		missing++;
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s (%s%s%s)", used ? ", " : "", name, state,
						 reason ? ": " : "", reason ? reason : "");
	}
	return missing;
}

/* Start launchers again that were running when `rota up` began (`seen`) and have ended since. */
static bool launchers_again(const struct instance *in, json_t *seen, struct err *e)
{
	const char *node;
	json_t *value;
	void *next;
	bool ok = true;

	json_object_foreach_safe(seen, next, node, value) if (ok && !instance_launcher(in, node))
	{
		ok = launcher_start(in, node, seen, e);
		json_object_del(seen, node);
	}
	return ok;
}

/* Set the error for nodes that do not serve, and print the log of the first of them. */
static bool nodes_fail(const struct instance *in, const char *missing, struct err *e)
{
	char *name = xasprintf("launcher.%.*s", (int)strcspn(missing, " "), missing);

	process_log_tail(in, name);
	free(name);
	err_set(e, "nodes are not ready after %d seconds: %s", READY_SECONDS, missing);
	return err_hint(e, "The logs of the nodes are %s/log/launcher.*.log.", in->home);
}

/* Wait until every node serves. Give up when no further node begins to serve within READY_SECONDS. */
static bool nodes_await(const struct instance *in, json_t *seen, struct err *e)
{
	int64_t polled, until = 0, said = clock_ms();
	size_t left, least = SIZE_MAX;
	char missing[300] = "";

	do {
		json_t *nodes;

		polled = clock_ms();
		nodes = launchers_again(in, seen, e) ? objects_list(in, "nodes", e) : NULL;
		if (!nodes)
			return false;
		left = nodes_missing(nodes, missing, sizeof(missing));
		if (left > 0 && clock_ms() - said >= PROGRESS_MS) {
			instance_say(in, "%zu of %zu node%s serve", json_array_size(nodes) - left, json_array_size(nodes),
				     text_plural((int64_t)json_array_size(nodes)));
			said = clock_ms();
		}
		json_decref(nodes);
		if (left == 0)
			return true;
		if (left < least)
			until = clock_ms() + READY_SECONDS * 1000L;
		least = left < least ? left : least;
		process_rest(POLL_MS + POLL_PART * (int)(clock_ms() - polled));
	} while (clock_ms() < until);
	return nodes_fail(in, missing, e);
}

bool up_nodes(const struct instance *in, const struct up_wish *wish, struct err *e)
{
	json_t *partitions = objects_list(in, "partitions", e), *nodes = NULL, *seen = json_object();
	const json_t *row;
	bool ok = partitions != NULL;
	size_t i;

	if (ok && !json_array_size(partitions))
		ok = object_change(in, "partition", "create", "main", json_pack("{ss}", "is_default", "true"), e);
	ok = ok && (nodes = objects_list(in, "nodes", e)) && nodes_make(in, wish, nodes, e);
	json_decref(nodes);
	nodes = ok ? objects_list(in, "nodes", e) : NULL;
	if (ok && (in->conf.launcher_dry_run || in->conf.launcher_virtual > 0))
		instance_say(in,
			     "dry run (see section launcher of rota.conf): steps are reported as completed, but nothing is run");
	ok = ok && up_logins(in, nodes, e);
	if (in->conf.launcher_virtual > 0) /* one launcher serves all virtual nodes n1, n2 and so on */
		ok = ok && launcher_start(in, UP_VIRTUAL_NAME, seen, e);
	json_array_foreach (nodes, i, row)
		ok = ok && (in->conf.launcher_virtual > 0 ||
			    launcher_start(in, json_string_value(json_object_get(row, "name")), seen, e));
	ok = ok && nodes && nodes_await(in, seen, e);
	json_decref(seen);
	json_decref(nodes);
	json_decref(partitions);
	return ok;
}
