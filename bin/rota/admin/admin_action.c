/* admin_action.c - carries out the actions of `rota admin`, with a function for each object that is not a row of the cluster.
 *
 * Called by: bin/rota/verb/admin.c.
 * Invariants:
 * - Only `rota admin db` and `rota admin pki` do not need jobmgrd. */
#include "bin/rota/admin/admin_action.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/admin/admin_db.h"
#include "bin/rota/admin/admin_db_check.h"
#include "bin/rota/admin/admin_export.h"
#include "bin/rota/admin/cred_admin.h"
#include "bin/rota/admin/enroll.h"
#include "bin/rota/admin/evacuate_admin.h"
#include "bin/rota/admin/pki.h"
#include "bin/rota/admin/power_admin.h"
#include "bin/rota/admin/reboot_admin.h"
#include "bin/rota/admin/staging_admin.h"
#include "bin/rota/admin/upkeep_admin.h"
#include "bin/rota/call/call.h"
#include "lib/db.h"
#include "lib/text.h"

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
		       report.migrations, text_plural(report.migrations), report.files, text_plural(report.files),
		       report.version);
	return EXIT_OK;
}

/* Run `rota admin db upgrade`, `db check`, `db restored` or `db accept`. */
static int db_run(const struct verb *verb, const struct admin_line *line, const char *action)
{
	const char *skip = json_string_value(json_object_get(line->values, "skip")), *key;
	bool accepts = !strcmp(action, "accept"), begins = accepts || !strcmp(action, "restored");
	struct err e = {0};
	json_t *value;
	char *conninfo;
	int status;

	operands_most(verb, line, 2);
	json_object_foreach (line->values, key, value)
		if (!begins || (strcmp(key, "skip") && strcmp(key, "yes")))
			verb_misuse(verb, "\"db %s\" has no option --%s", action, key);
	if (line->conninfo)
		conninfo = db_conninfo_verified(line->conninfo);
	else if (!db_conninfo_check(call_conf(), &e))
		return call_refuse(&e);
	else /* connect as PostgreSQL's superuser postgres: the account of a private instance may, elsewhere PostgreSQL decides */
		conninfo = db_conninfo_reader(call_conf(), call_conf()->instance_home[0] ? "postgres" : NULL, DB_READER_PRIMARY);
	if (begins)
		status = admin_db_begin(conninfo, accepts, skip ? skip : "1000", json_object_get(line->values, "yes") != NULL,
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
static int action_pki(const struct verb *verb, const struct admin_line *line, const char *action)
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
static void rows_show(const json_t *rows, const char *object)
{
	const json_t *row;
	size_t i;

	if (!json_array_size(rows))
		fprintf(stderr, "rota: there is no %s\n", object);

	json_array_foreach (rows, i, row) {
		if (i)
			putchar('\n');
		row_show(row);
	}
}

/* Send one change and print its outcome. `name` is "" to show all objects of the kind. */
static bool object_change(const struct admin_line *line, const char *object, const char *action, const char *name)
{
	json_t *answer = call_gate(
		"admin", json_pack("{ss ss ss sO}", "object", object, "action", action, "name", name, "values", line->values));

	if (!answer)
		return false;
	if (line->json)
		call_print_json();
	else if (!strcmp(action, "show"))
		rows_show(json_object_get(answer, "rows"), object);
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
	if (line->count < 3 && !strcmp(action, "show") && strcmp(object, "node"))
		return object_change(line, object, action, "") ? EXIT_OK : call_status();
	if (line->count < 3)
		verb_misuse(verb, "name the %s: rota admin %s %s NAME", object, object, action);
	if ((!strcmp(action, "drain") || !strcmp(action, "dead")) && !json_object_get(line->values, "reason"))
		verb_misuse(verb, "\"%s\" of a node needs a reason: add --reason=TEXT", action);
	if (!strcmp(action, "enroll"))
		return enroll_nodes(line->operands[2], json_string_value(json_object_get(line->values, "login")),
				    json_string_value(json_object_get(line->values, "file")), line->json);
	return object_change(line, object, action, line->operands[2]) ? EXIT_OK : call_status();
}

int admin_action_run(const struct verb *verb, const struct admin_line *line, const char *object, const char *action)
{
	if (!action || strcmp(action, "status") != 0) /* only the action status takes any number of words */
		operands_most(verb, line, 3);
	if (!strcmp(object, "db"))
		return db_run(verb, line, action);
	if (!strcmp(object, "usage"))
		return usage_rebuild(verb, line);
	if (!strcmp(object, "hook"))
		return hook_run(verb, line, action);
	if (!strcmp(object, "pool"))
		return pool_run(verb, line);
	if (!strcmp(object, "power"))
		return power_run(verb, line, action);
	if (!strcmp(object, "cred"))
		return cred_run(verb, line);
	if (!strcmp(object, "export"))
		return export_run(verb, line);
	if (!strcmp(object, "range"))
		return range_run(verb, line, action);
	if (!strcmp(object, "pki"))
		return action_pki(verb, line, action);
	return object_run(verb, line, object, action);
}
