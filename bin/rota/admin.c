/* admin.c - `rota admin`: changes to the cluster's objects, handed to the gate as they were typed.
 *
 * What keys an object has, and which nodes a range means, is the database's business (it checks them and names those there are); here
 * they are only split. `rota admin db upgrade` alone needs no gate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/admin_db.h"
#include "bin/rota/admin_export.h"
#include "bin/rota/call.h"
#include "bin/rota/verb.h"
#include "lib/nearest.h"

enum { ADMIN_CONNINFO = 256 };

static const char *const OBJECTS[] = {"partition", "node",	  "account", "user", "association", "qos",   "license",
				      "setting",   "reservation", "usage",   "db",   "export",	    "range", NULL};
static const char *const ACTIONS[] = {"create", "change", "show", "delete", "drain", "resume", "dead", NULL};

/* For help and completion; other --KEY=VALUE are the object's own. */
const struct verb_option admin_options[] = {
	{256 + 1, "reason", "TEXT",
	 "why a node is drained, or kept free, shown to everybody whom it keeps waiting; how you know that it is dead"},
	{256 + 2, "deadline", "WHEN", "drain: until then, what ends before may start; then drained"},
	{256 + 3, "to", "DIR", "for export, and range drop: the folder that gets them"},
	{ADMIN_CONNINFO, "conninfo", "TEXT", "for db upgrade: the database, as a libpq connection string of a superuser"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* One of the words, or misuse with the nearest. */
static const char *word(const struct verb *verb, const char *what, const char *given, const char *const *words)
{
	const char *near;

	for (const char *const *w = words; *w; w++)
		if (!strcmp(*w, given))
			return *w;
	near = nearest_of(given, words);
	if (near)
		verb_misuse(verb, "there is no %s \"%s\"; did you mean \"%s\"?", what, given, near);
	verb_misuse(verb, "there is no %s \"%s\"", what, given);
}

/* The command line, split: operands, --json, and the keys. */
struct admin_line {
	char *operands[3];
	int count;
	bool json;
	const char *conninfo;
	json_t *values;
};

/* One --KEY=VALUE or --KEY VALUE; returns how many words it took. */
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

/* Keys are open-ended, so the walk over a table of options does not serve here. */
static void line_read(const struct verb *verb, struct admin_line *line, int argc, char **argv)
{
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
		} else if (!strncmp(argv[i], "--", 2)) {
			i += value_read(verb, line, argc - i, argv + i);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			verb_misuse(verb, "there is no option \"%s\"", argv[i]);
		} else {
			if (line->count == 3)
				verb_misuse(verb, "\"%s\" is too much", argv[i]);
			line->operands[line->count++] = argv[i++];
		}
	}
}

/* `rota admin db upgrade`. */
static int db_upgrade(const struct verb *verb, const struct admin_line *line)
{
	struct admin_db_report report;
	struct err e = {0};
	char *conninfo;
	bool ok;

	if (line->count != 2 || strcmp(line->operands[1], "upgrade"))
		verb_misuse(verb, "the database knows one action: rota admin db upgrade");
	if (line->conninfo)
		conninfo = xstrdup(line->conninfo);
	else /* a private instance lets its account be the superuser; a system's PostgreSQL decides for itself */
		conninfo =
			xasprintf("%s%s", call_conf()->database_conninfo, call_conf()->instance_home[0] ? " user=postgres" : "");
	ok = admin_db_upgrade(conninfo, &report, &e);
	free(conninfo);
	if (!ok) {
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

/* `rota admin usage rebuild`. */
static int usage_rebuild(const struct verb *verb, const struct admin_line *line)
{
	json_t *answer;

	if (line->count != 2 || strcmp(line->operands[1], "rebuild"))
		verb_misuse(verb, "usage knows one action: rota admin usage rebuild");
	answer = call_gate("usage_rebuild", json_object());
	if (!answer)
		return call_status();
	if (line->json)
		call_print_json();
	else
		printf("usage is being added up anew, by the days of %s; until acct.site.rebuild_left is 0, figures are too "
		       "small\n",
		       json_string_value(json_object_get(answer, "time_zone")));
	json_decref(answer);
	return EXIT_OK;
}

/* `rota admin export MONTH --to=DIR`, `rota admin range list`, `rota admin range drop FROM --to=DIR`. */
static int export(const struct verb *verb, const struct admin_line *line)
{
	const char *folder = json_string_value(json_object_get(line->values, "to"));
	bool range = !strcmp(line->operands[0], "range"), list = range && line->count == 2 && !strcmp(line->operands[1], "list");

	if (list)
		return admin_range_list(line->json);
	if (range && (line->count != 3 || strcmp(line->operands[1], "drop")))
		verb_misuse(verb, "a range knows two actions: rota admin range list, rota admin range drop FROM --to=DIR");
	if (!range && line->count != 2)
		verb_misuse(verb, "which month? rota admin export 2026-01 --to=DIR");
	if (!folder)
		verb_misuse(verb, "where to? --to=DIR");
	return range ? admin_range_drop(line->operands[2], folder, line->json)
		     : admin_export_month(line->operands[1], folder, line->json);
}

/* An object's row, a key a line. */
static void show_row(const json_t *row)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)row, key, value) {
		char *text = json_is_string(value) ? xstrdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);

		printf("%-24s %s\n", key, text);
		free(text);
	}
}

/* Rows, with an empty line between. */
static void show(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (i)
			putchar('\n');
		show_row(row);
	}
}

/* One change; prints what came of it. */
static bool change(const struct admin_line *line, const char *object, const char *action, const char *name)
{
	json_t *answer = call_gate(
		"admin", json_pack("{ss ss ss sO}", "object", object, "action", action, "name", name, "values", line->values));

	if (!answer)
		return false;
	if (line->json)
		call_print_json();
	else if (!strcmp(action, "show"))
		show(json_object_get(answer, "rows"));
	else if (json_is_false(json_object_get(answer, "changed")))
		printf("%s %s: nothing to change\n", object, name);
	else
		printf("%s %s: %s\n", object, name,
		       !strcmp(action, "create")   ? "created"
		       : !strcmp(action, "change") ? "changed"
		       : !strcmp(action, "delete") ? "deleted"
		       : !strcmp(action, "drain")  ? (json_object_get(line->values, "deadline") ? "to be drained" : "draining")
		       : !strcmp(action, "dead")   ? "declared dead"
						   : "resumed");
	json_decref(answer);
	return true;
}

static int changes(const struct verb *verb, const struct admin_line *line, const char *object, const char *action)
{
	bool drain = !strcmp(action, "drain"), dead = !strcmp(action, "dead");

	if (strcmp(object, "node") && (drain || dead || !strcmp(action, "resume")))
		verb_misuse(verb, "only nodes can be %s", drain ? "drained" : dead ? "declared dead" : "resumed");
	if ((drain || dead) && !json_object_get(line->values, "reason"))
		verb_misuse(verb, "say why: --reason=TEXT");
	return change(line, object, action, line->operands[2]) ? EXIT_OK : call_status();
}

int verb_admin(int argc, char **argv)
{
	const struct verb *verb = verb_find("admin");
	struct admin_line line = {.values = json_object()};
	const char *object, *action;
	int status;

	line_read(verb, &line, argc, argv);
	if (!line.count)
		verb_misuse(verb, "name an object: partition, node, account, user, association, qos, license, setting, "
				  "reservation, usage, db, export or range");
	object = word(verb, "object", line.operands[0], OBJECTS);
	if (!strcmp(object, "db")) {
		status = db_upgrade(verb, &line);
	} else if (!strcmp(object, "usage")) {
		status = usage_rebuild(verb, &line);
	} else if (!strcmp(object, "export") || !strcmp(object, "range")) {
		status = export(verb, &line);
	} else {
		if (line.count < 2)
			verb_misuse(verb, "say what to do with the %s: create, change, show%s", object,
				    strcmp(object, "node") ? " or delete" : ", delete, drain, resume or dead");
		action = word(verb, "action", line.operands[1], ACTIONS);
		if (line.count < 3)
			verb_misuse(verb, "name the %s", object);
		status = changes(verb, &line, object, action);
	}
	json_decref(line.values);
	return status;
}
