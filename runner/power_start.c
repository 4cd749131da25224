/* power_start.c - starts the program that powers, boots, prepares or checks a node.
 *
 * Called by: runner_power.c.
 * Invariants:
 * - Only programs that rota.conf names, and files of hooks.node_folder, are executed. The database can change neither, so no row
 *   can have another program executed.
 * - Names and arguments from the database are checked before they become arguments of a program. */
#include "runner/power_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/db.h"
#include "lib/err.h"
#include "runner/hook_environment.h"

/* the same limits as in the checks of rota.node.name, rota.node_image.image and rota.prep_asked */
enum { NAME_MOST = 63, ARGUMENTS_MOST = 200 };

/* A program that rota.conf names: action of api.power_take, path, and name in messages. */
struct power_program {
	const char *action, *path, *kind;
};

bool power_name_is_valid(const char *name)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

	return *name && strchr(first, *name) && strspn(name, others) == strlen(name) && strlen(name) <= NAME_MOST;
}

/* Returns true if the arguments of a preparation are printable ASCII and do not begin with a blank or "-". */
static bool power_arguments_are_valid(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return *text != ' ' && *text != '-' && strlen(text) <= ARGUMENTS_MOST;
}

/* Returns the program of rota.conf for an action of api.power_take. */
static struct power_program power_configured(const struct conf *conf, const char *action)
{
	const struct power_program programs[] = {
		{"on", conf->hooks_power_on, "power-on program"},
		{"off", conf->hooks_power_off, "power-off program"},
		{"reboot", conf->hooks_reboot, "reboot program"},
	};

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (strcmp(programs[i].action, action) == 0)
			return programs[i];
	return (struct power_program){action, "", strcmp(action, "check") ? "program of a preparation" : "program of a check"};
}

/* Returns the reason why the program of a row of api.power_take may not be run, malloc'ed; NULL: it may. */
static char *power_objection(const struct conf *conf, const PGresult *result, int row, const char *path)
{
	const char *node = db_text(result, row, "node"), *image = db_text(result, row, "image");
	const char *prep = db_text(result, row, "prep"), *program = db_text(result, row, "program");

	if (!power_name_is_valid(node))
		return xasprintf("\"%.100s\" is not the name of a node", node);
	if (*image && !power_name_is_valid(image))
		return xasprintf("\"%.100s\" is not the name of an image", image);
	if (*prep && !power_name_is_valid(prep))
		return xasprintf("\"%.100s\" is not the name of a preparation or a check", prep);
	if (!power_arguments_are_valid(db_text(result, row, "args")))
		return xstrdup("the arguments are not a line of printable characters");
	if (*program && !power_name_is_valid(program))
		return xasprintf("\"%.100s\" is not the name of a program", program);
	if (*program && !*conf->hooks_node_folder)
		return xasprintf("no folder hooks.node_folder is configured for the program \"%s\"", program);
	if (!*path)
		return xasprintf("no program hooks.%s%.40s is configured",
				 strcmp(db_text(result, row, "action"), "reboot") ? "power_" : "",
				 db_text(result, row, "action"));
	return NULL;
}

struct hook *power_start(struct event_base *base, const struct conf *conf, const PGresult *result, int row)
{
	const char *program = db_text(result, row, "program"), *prep = db_text(result, row, "prep");
	struct power_program configured = power_configured(conf, db_text(result, row, "action"));
	char *path = *program ? xasprintf("%s/%s", conf->hooks_node_folder, program) : xstrdup(configured.path);
	char *objection = power_objection(conf, result, row, path);
	struct hook *h =
		hook_new(strtoll(db_text(result, row, "run_id"), NULL, 10), db_text(result, row, "label"), path, configured.kind);
	char *node = (char *)db_text(result, row, "node"), *image = (char *)db_text(result, row, "image");
	char *args = (char *)db_text(result, row, "args");
	char *of_node[] = {node, *image ? image : NULL, NULL};
	char *of_prep[] = {(char *)db_text(result, row, "action"), node, (char *)prep, *args ? args : NULL, NULL};
	char **environment = hook_environment(NULL, 0, conf->instance_name);
	int timeout_s =
		db_is_null(result, row, "timeout_s") ? conf->hooks_power_timeout : atoi(db_text(result, row, "timeout_s"));

	if (objection)
		snprintf(h->message, sizeof h->message, "%s", objection);
	else
		hook_start(h, base,
			   &(struct hook_start){.arguments = *prep ? of_prep : of_node,
						.environment = environment,
						.input = -1,
						.timeout_s = timeout_s});
	hook_environment_free(environment);
	free(objection);
	free(path);
	return h;
}
