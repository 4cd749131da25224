/* admin.c - `rota admin`: changes objects of the cluster.
 *
 * Invariants:
 * - Keys and values are sent as typed. The database checks keys, values and node ranges.
 * - `rota admin db` and `rota admin pki` are the only actions that do not need jobmgrd. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/admin/admin.h"
#include "bin/rota/admin/admin_db.h"
#include "bin/rota/admin/admin_db_check.h"
#include "bin/rota/admin/admin_export.h"
#include "bin/rota/admin/enroll.h"
#include "bin/rota/admin/pki.h"
#include "bin/rota/admin/cred_admin.h"
#include "bin/rota/admin/evacuate_admin.h"
#include "bin/rota/admin/power_admin.h"
#include "bin/rota/admin/reboot_admin.h"
#include "bin/rota/admin/staging_admin.h"
#include "bin/rota/admin/upkeep_admin.h"
#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/db.h"
#include "lib/nearest.h"

enum { ADMIN_CONNINFO = 256 };

/* Options for help and completion. Any other --KEY=VALUE is a property of the object. */
const struct verb_option admin_options[] = {
	{256 + 1, "reason", "TEXT",
	 "why a node is drained, rebooted or reserved, shown to users whose steps wait for it; how you know that a node is dead"},
	{256 + 9, "asap", NULL, "reboot: start nothing new on the nodes before (default: wait until they are idle)"},
	{256 + 10, "next", "STATE",
	 "reboot: resume: the nodes serve afterwards even if they were drained; down: they stay drained (default: as before)"},
	{256 + 11, "parallel", "WHAT",
	 "evacuate: steps on several nodes wait, move (default) or leave (they run on, and are not waited for)"},
	{256 + 12, "no-checkpoint", "WHAT",
	 "evacuate: steps that cannot be checkpointed wait (default: they run to their end), requeue or cancel"},
	{256 + 13, "exclude", "LIST", "evacuate: nodes on which they do not start again"},
	{256 + 14, "by", "WHEN", "evacuate: when what still runs is queued again; what must not run again is cancelled"},
	{256 + 15, "dry-run", NULL, "evacuate: only print what would be done"},
	{256 + 16, "at-most", "N|N%", "change-all: most nodes that are out of use at a time"},
	{256 + 17, "reboot", NULL, "change-all: boot the nodes again, with the image that they have"},
	{256 + 18, "failures", "N", "change-all: failed nodes after which no more are changed (default: 3)"},
	{256 + 2, "deadline", "WHEN", "drain: only steps that end before this time may start; then the node is drained"},
	{256 + 3, "to", "DIR", "export, range drop, pki: the folder for the files; evacuate: the nodes to move to"},
	{256 + 4, "login", "LOGIN",
	 "create and enroll of nodes: the login of a process manager that serves several nodes (default: the node's name)"},
	{256 + 5, "file", "FILE", "enroll: the file for the passwords of nodes (default: node.pass in the folder of the keys)"},
	{256 + 6, "names", "LIST", "pki issue: host names and addresses for which the certificate is valid (default: its name)"},
	{256 + 8, "user", "USER",
	 "pki issue: the user whom the certificate names, instead of hosts; for administrators by HTTPS"},
	{256 + 7, "days", "N", "pki: days for which a certificate is valid (default: 397, of the authority 3650)"},
	{ADMIN_CONNINFO, "conninfo", "TEXT", "db: a libpq connection string for the database, as a superuser"},
	{256 + 11, "skip", "N", "db restored: how many job numbers are left out (default: 1000)"},
	{256 + 12, "yes", NULL, "db restored: do what it shows"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* Returns words joined as "a, b or c"; malloc'ed. */
static char *words_join(const char *const *words)
{
	char *all = xstrdup(*words++);

	for (; *words; words++) {
		char *more = xasprintf("%s%s%s", all, words[1] ? ", " : " or ", *words);

		free(all);
		all = more;
	}
	return all;
}

/* Returns the word of the list that equals `given`. Any other word is misuse; the message suggests the nearest word, or lists
 * all. */
static const char *word_read(const struct verb *verb, const char *what, const char *given, const char *const *words)
{
	const char *near;

	for (const char *const *w = words; *w; w++)
		if (!strcmp(*w, given))
			return *w;
	near = nearest_of(given, words);
	if (near)
		verb_misuse(verb, "there is no %s \"%s\"; did you mean \"%s\"?", what, given, near);
	verb_misuse(verb, "there is no %s \"%s\"; name %s%s", what, given, words[1] ? "one of " : "", words_join(words));
}

/* The command line of `rota admin`. */
struct admin_line {
	char **operands;
	int count;
	bool json;
	const char *conninfo;
	json_t *values;
};

/* Read an option of the command line, --KEY=VALUE or --KEY VALUE. Returns the number of its words: 1 or 2. */
static int value_read(const struct verb *verb, struct admin_line *line, int left, char **argv)
{
	const char *option = argv[0] + 2;
	size_t length = strcspn(option, "=");
	char *key = xstrndup(option, length);
	const char *value = option[length] ? option + length + 1 : left > 1 ? argv[1] : NULL;
	int took = option[length] ? 1 : 2;

	if (!length || !value)
		verb_misuse(verb, "option \"%s\" needs a value", argv[0]);
	for (char *c = key; *c; c++)
		if (*c == '-')
			*c = '_';
	if (!strcmp(key, "config"))
		call_use_config(value);
	else if (!strcmp(key, "conninfo"))
		line->conninfo = value;
	else if (json_object_set_new(line->values, key, json_string(value)))
		verb_misuse(verb, "the value of \"%s\" is not UTF-8", argv[0]);
	free(key);
	return took;
}

/* Read the command line. Any key is a valid option here, so verb_next() with its table of options cannot be used. */
static void line_read(const struct verb *verb, struct admin_line *line, int argc, char **argv)
{
	line->operands = xcalloc((size_t)argc, sizeof *line->operands);
	for (int i = 1; i < argc;) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			verb_help_print(verb);
			exit(EXIT_OK);
		} else if (!strcmp(argv[i], "--version")) {
			printf("rota %s\n", ROTA_VERSION);
			exit(EXIT_OK);
		} else if (!strcmp(argv[i], "--json")) {
			call_use_json();
			line->json = true;
			i++;
		} else if (!strcmp(argv[i], "--asap") || !strcmp(argv[i], "--yes") || !strcmp(argv[i], "--reboot")) {
			json_object_set_new(line->values, argv[i] + 2, json_true());
			i++;
		} else if (!strcmp(argv[i], "--dry-run")) {
			json_object_set_new(line->values, "dry_run", json_true());
			i++;
		} else if (!strcmp(argv[i], "--")) {
			while (++i < argc)
				line->operands[line->count++] = argv[i];
		} else if (!strncmp(argv[i], "--", 2)) {
			i += value_read(verb, line, argc - i, argv + i);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			verb_misuse(verb, "there is no option \"%s\"", argv[i]);
		} else {
			line->operands[line->count++] = argv[i++];
		}
	}
}

static const struct admin_object *object_read(const struct verb *verb, const struct admin_line *line)
{
	const char *names[ADMIN_OBJECTS_MOST];
	const struct admin_object *o = ADMIN_OBJECTS;
	const char *name;

	for (size_t i = 0; i == 0 || names[i - 1]; i++)
		names[i] = ADMIN_OBJECTS[i].name;
	if (!line->count)
		verb_misuse(verb, "name an object: %s", words_join(names));
	name = word_read(verb, "object", line->operands[0], names);
	while (strcmp(o->name, name))
		o++;
	return o;
}

/* Returns the action on the command line. Returns NULL if the object has no actions. */
static const char *action_read(const struct verb *verb, const struct admin_line *line, const struct admin_object *object)
{
	if (!object->actions[0])
		return NULL;
	if (line->count < 2)
		verb_misuse(verb, "name an action for \"%s\": %s", object->name, words_join(object->actions));
	return word_read(verb, "action", line->operands[1], object->actions);
}

static void operands_most(const struct verb *verb, const struct admin_line *line, int most)
{
	if (line->count > most)
		verb_misuse(verb, "\"%s\" is one operand too many", line->operands[most]);
}

/* Run `rota admin db upgrade`. */
static int db_upgrade(const struct admin_line *line, const char *conninfo)
{
	struct admin_db_report report;
	struct err e = {0};

	if (!admin_db_upgrade(conninfo, &report, &e)) {
		call_error(&e);
		return EXIT_REFUSED;
	}
	if (line->json)
		printf("{\"version\":%d,\"migrations\":%d,\"files\":%d}\n", report.version, report.migrations, report.files);
	else if (!report.migrations && !report.files)
		printf("nothing to do: the database is at %04d\n", report.version);
	else
		printf("%d migration%s applied, %d file%s of functions and views installed; the database is at %04d\n",
		       report.migrations, report.migrations == 1 ? "" : "s", report.files, report.files == 1 ? "" : "s",
		       report.version);
	return EXIT_OK;
}

/* Run `rota admin db upgrade`, `db check` or `db restored`. */
static int db_run(const struct verb *verb, const struct admin_line *line, const char *action)
{
	const char *skip = json_string_value(json_object_get(line->values, "skip")), *key;
	bool restored = !strcmp(action, "restored");
	struct err e = {0};
	json_t *value;
	char *conninfo;
	int status;

	operands_most(verb, line, 2);
	json_object_foreach (line->values, key, value)
		if (!restored || (strcmp(key, "skip") && strcmp(key, "yes")))
			verb_misuse(verb, "\"db %s\" has no option --%s", action, key);
	if (line->conninfo)
		conninfo = db_conninfo_verified(line->conninfo);
	else if (!db_conninfo_check(call_conf(), &e))
		return call_refuse(&e);
	else /* connect as PostgreSQL's superuser postgres: the account of a private instance may, elsewhere PostgreSQL decides */
		conninfo = db_conninfo_reader(call_conf(), call_conf()->instance_home[0] ? "postgres" : NULL, false);
	if (restored)
		status = admin_db_restored(conninfo, skip ? skip : "1000", json_object_get(line->values, "yes") != NULL,
					   line->json);
	else
		status = strcmp(action, "check") ? db_upgrade(line, conninfo) : admin_db_check(conninfo, line->json);
	free(conninfo);
	return status;
}

/* Run `rota admin usage rebuild`. */
static int usage_rebuild(const struct verb *verb, const struct admin_line *line)
{
	json_t *answer;

	operands_most(verb, line, 2);
	answer = call_gate("usage_rebuild", json_object());
	if (!answer)
		return call_status();
	if (line->json)
		call_print_json();
	else
		printf("usage is being computed anew, with days of time zone %s; figures are too low until "
		       "acct.site.rebuild_left is 0\n",
		       json_string_value(json_object_get(answer, "time_zone")));
	json_decref(answer);
	return EXIT_OK;
}

/* Returns the folder for exports (--to). A missing folder is misuse. */
static const char *folder_read(const struct verb *verb, const struct admin_line *line)
{
	const char *folder = json_string_value(json_object_get(line->values, "to"));

	if (!folder)
		verb_misuse(verb, "name the folder for the files: --to=DIR");
	return folder;
}

/* Run `rota admin export MONTH --to=DIR`. */
static int export_run(const struct verb *verb, const struct admin_line *line)
{
	operands_most(verb, line, 2);
	if (line->count < 2)
		verb_misuse(verb, "name a month: rota admin export 2026-01 --to=DIR");
	return admin_export_month(line->operands[1], folder_read(verb, line), line->json);
}

/* Run `rota admin range list` or `rota admin range drop FROM --to=DIR`. */
static int range_run(const struct verb *verb, const struct admin_line *line, const char *action)
{
	if (!strcmp(action, "list")) {
		operands_most(verb, line, 2);
		return admin_range_list(line->json);
	}
	if (line->count < 3)
		verb_misuse(verb, "name a range: rota admin range drop FROM --to=DIR");
	return admin_range_drop(line->operands[2], folder_read(verb, line), line->json);
}

/* Run `rota admin pki ACTION NAME --to=DIR`. */
static int pki(const struct verb *verb, const struct admin_line *line, const char *action)
{
	const char *days = json_string_value(json_object_get(line->values, "days"));
	const char *names = json_string_value(json_object_get(line->values, "names"));
	const char *user = json_string_value(json_object_get(line->values, "user"));
	char *end = NULL;
	long count = days ? strtol(days, &end, 10) : 0;
	bool named = !strcmp(action, "issue") || !strcmp(action, "renew");

	if (named && line->count < 3)
		verb_misuse(verb, "name the certificate: rota admin pki %s NAME --to=DIR", action);
	if (names && user)
		verb_misuse(verb, "a certificate names hosts or a user: leave out --names or --user");
	if (days && (*end || count < 1 || count > 36500))
		verb_misuse(verb, "--days needs a number from 1 to 36500, not \"%s\"", days);
	return pki_run(&(struct pki_line){.action = action,
					  .name = line->operands[2],
					  .folder = folder_read(verb, line),
					  .names = names,
					  .user = user,
					  .days = (int)count,
					  .json = line->json});
}

/* Print an object of `rota admin`, one key on each line. */
static void row_show(const json_t *row)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)row, key, value) {
		char *text = json_is_string(value) ? xstrdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);

		printf("%-24s %s\n", key, text);
		free(text);
	}
}

/* Print objects, separated by empty lines. */
static void rows_show(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (i)
			putchar('\n');
		row_show(row);
	}
}

/* Send one change and print its outcome. */
static bool object_change(const struct admin_line *line, const char *object, const char *action, const char *name)
{
	json_t *answer = call_gate(
		"admin", json_pack("{ss ss ss sO}", "object", object, "action", action, "name", name, "values", line->values));

	if (!answer)
		return false;
	if (line->json)
		call_print_json();
	else if (!strcmp(action, "show"))
		rows_show(json_object_get(answer, "rows"));
	else if (json_is_false(json_object_get(answer, "changed")))
		printf("%s %s: nothing to change\n", object, name);
	else
		printf("%s %s: %s\n", object, name,
		       !strcmp(action, "create")   ? "created"
		       : !strcmp(action, "change") ? "changed"
		       : !strcmp(action, "delete") ? "deleted"
		       : !strcmp(action, "drain")  ? (json_object_get(line->values, "deadline") ? "to be drained" : "draining")
		       : !strcmp(action, "dead")   ? "declared dead"
		       : !strcmp(action, "revoke") ? "may not log in any more"
						   : "resumed");
	json_decref(answer);
	return true;
}

/* Run `rota admin hook list`, `hook show JOB`, `hook retry JOB` or `hook status [WORD]...`. */
static int hook_run(const struct verb *verb, const struct admin_line *line, const char *action)
{
	bool list = !strcmp(action, "list");

	if (json_object_size(line->values))
		verb_misuse(verb, "\"hook %s\" has no option --%s", action, json_object_iter_key(json_object_iter(line->values)));
	if (!strcmp(action, "status"))
		return staging_admin_status(line->operands + 2, line->count - 2, line->json);
	if (list)
		operands_most(verb, line, 2);
	else if (line->count < 3)
		verb_misuse(verb, "name the number of a job: rota admin hook %s JOB", action);
	return staging_admin_run(action, list ? NULL : line->operands[2], line->json);
}

/* Run `rota admin pool list`. */
static int pool_run(const struct verb *verb, const struct admin_line *line)
{
	operands_most(verb, line, 2);
	return staging_admin_pools(line->json);
}

/* Run `rota admin power on NODE`, `power off NODE` or `power list [NODE]`. */
static int power_run(const struct verb *verb, const struct admin_line *line, const char *action)
{
	if (line->count < 3 && strcmp(action, "list"))
		verb_misuse(verb, "name the nodes: rota admin power %s NODE", action);
	return power_admin_run(action, line->operands[2], line->json);
}

/* Run `rota admin cred rotate`. */
static int cred_run(const struct verb *verb, const struct admin_line *line)
{
	operands_most(verb, line, 2);
	return cred_admin_rotate(line->json);
}

/* Run `rota admin node reboot NODE`, `cancel-reboot NODE` or `reboots [NODE]`. */
static int reboot_run(const struct verb *verb, const struct admin_line *line, const char *action)
{
	bool list = !strcmp(action, "reboots"), begin = !strcmp(action, "reboot");
	const char *key;
	json_t *value;

	if (line->count < 3 && !list)
		verb_misuse(verb, "name the nodes: rota admin node %s NODE", action);
	if (begin && !json_object_get(line->values, "reason"))
		verb_misuse(verb, "\"reboot\" of a node needs a reason: add --reason=TEXT");
	json_object_foreach (line->values, key, value)
		if (!begin || (strcmp(key, "reason") && strcmp(key, "asap") && strcmp(key, "next")))
			verb_misuse(verb, "\"node %s\" has no option --%s", action, key);
	return reboot_admin_run(list ? "list" : begin ? "reboot" : "cancel", line->operands[2], line->values, line->json);
}

static bool is_reboot(const char *action)
{
	return !strcmp(action, "reboot") || !strcmp(action, "cancel-reboot") || !strcmp(action, "reboots");
}

/* Run `rota admin node evacuate NODE`, `cancel-evacuation NUMBER` or `evacuations [NODE]`. */
static int evacuate_run(const struct verb *verb, const struct admin_line *line, const char *action)
{
	static const char *const keys[] = {"parallel", "no_checkpoint", "to", "exclude", "by", "dry_run", NULL};
	bool begin = !strcmp(action, "evacuate");
	const char *key;
	json_t *value;

	if (line->count < 3 && strcmp(action, "evacuations"))
		verb_misuse(verb, "name the %s: rota admin node %s %s", begin ? "nodes" : "number of an evacuation", action,
			    begin ? "NODE" : "NUMBER");
	json_object_foreach (line->values, key, value) {
		const char *const *known = keys;

		while (*known && strcmp(*known, key))
			known++;
		if (!begin || !*known)
			verb_misuse(verb, "\"node %s\" has no option --%s", action, key);
	}
	if (begin)
		return evacuate_admin_run(line->operands[2], line->values, line->json);
	if (!strcmp(action, "cancel-evacuation"))
		return evacuate_admin_cancel(line->operands[2], line->json);
	return evacuate_admin_list(line->operands[2], line->json);
}

static bool is_evacuation(const char *action)
{
	return !strcmp(action, "evacuate") || !strcmp(action, "cancel-evacuation") || !strcmp(action, "evacuations");
}

static int object_run(const struct verb *verb, const struct admin_line *line, const char *object, const char *action)
{
	if (upkeep_admin_has(action))
		return upkeep_admin_run(verb, action, line->count > 2 ? line->operands[2] : NULL, line->values, line->json);
	if (is_reboot(action))
		return reboot_run(verb, line, action);
	if (is_evacuation(action))
		return evacuate_run(verb, line, action);
	if (line->count < 3)
		verb_misuse(verb, "name the %s: rota admin %s %s NAME", object, object, action);
	if ((!strcmp(action, "drain") || !strcmp(action, "dead")) && !json_object_get(line->values, "reason"))
		verb_misuse(verb, "\"%s\" of a node needs a reason: add --reason=TEXT", action);
	if (!strcmp(action, "enroll"))
		return enroll_nodes(line->operands[2], json_string_value(json_object_get(line->values, "login")),
				    json_string_value(json_object_get(line->values, "file")), line->json);
	return object_change(line, object, action, line->operands[2]) ? EXIT_OK : call_status();
}

int verb_admin(const struct verb *verb, int argc, char **argv)
{
	struct admin_line line = {.values = json_object()};
	const struct admin_object *object;
	const char *action;
	int status;

	line_read(verb, &line, argc, argv);
	object = object_read(verb, &line);
	action = action_read(verb, &line, object);
	if (!action || strcmp(action, "status") != 0) /* only the action status takes any number of words */
		operands_most(verb, &line, 3);
	if (!strcmp(object->name, "db"))
		status = db_run(verb, &line, action);
	else if (!strcmp(object->name, "usage"))
		status = usage_rebuild(verb, &line);
	else if (!strcmp(object->name, "hook"))
		status = hook_run(verb, &line, action);
	else if (!strcmp(object->name, "pool"))
		status = pool_run(verb, &line);
	else if (!strcmp(object->name, "power"))
		status = power_run(verb, &line, action);
	else if (!strcmp(object->name, "cred"))
		status = cred_run(verb, &line);
	else if (!strcmp(object->name, "export"))
		status = export_run(verb, &line);
	else if (!strcmp(object->name, "range"))
		status = range_run(verb, &line, action);
	else if (!strcmp(object->name, "pki"))
		status = pki(verb, &line, action);
	else
		status = object_run(verb, &line, object->name, action);
	json_decref(line.values);
	free(line.operands);
	return status;
}
