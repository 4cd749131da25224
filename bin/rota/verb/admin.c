/* admin.c - `rota admin`: reads the command line. bin/rota/admin/admin_action.c carries out the action.
 *
 * Invariants:
 * - Keys and values are sent as typed. The database checks keys, values and node ranges. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/admin/admin.h"
#include "bin/rota/admin/admin_action.h"
#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/err.h"
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
	{256 + 13, "exclude", "LIST", "evacuate: nodes on which the moved steps do not start again"},
	{256 + 14, "by", "WHEN",
	 "evacuate: time at which steps that still run are queued again, or cancelled if they must not run again"},
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
	{256 + 11, "skip", "N", "db restored and accept: number of job numbers to leave out (default: 1000)"},
	{256 + 12, "yes", NULL, "db restored and accept: do what the command shows"},
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

int verb_admin(const struct verb *verb, int argc, char **argv)
{
	struct admin_line line = {.values = json_object()};
	const struct admin_object *object;
	int status;

	line_read(verb, &line, argc, argv);
	object = object_read(verb, &line);
	status = admin_action_run(verb, &line, object->name, action_read(verb, &line, object));
	json_decref(line.values);
	free(line.operands);
	return status;
}
