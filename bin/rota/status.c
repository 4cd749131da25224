/* status.c - `rota status`: every process of the instance, and whether the gate answers.
 *
 * The daemons are those that the database knows; what stands below them (PostgreSQL, munged, launchers) is looked for on this
 * machine when the instance is a private one. So a status can be had with the gate down, too. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/instance.h"
#include "bin/rota/table.h"
#include "bin/rota/verb.h"

const struct verb_option status_options[] = {
	{'w', "wide", NULL, "cut nothing to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

static void row(struct table *table, const char *role, const char *name, pid_t pid, const char *version, const char *since,
		const char *note)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)pid);
	table_cell(table, role);
	table_cell(table, name);
	table_cell(table, pid > 0 ? number : "-");
	table_cell(table, version);
	table_cell(table, since);
	table_cell_coloured(table, note, !strcmp(note, "leader") ? "32" : !strncmp(note, "not ", 4) ? "31" : "");
}

/* A part that is found on this machine: its pid, or that it does not run. Only whoever may look can tell. */
static void part_row(struct table *table, const char *role, const char *name, pid_t pid, const char *version)
{
	row(table, role, name, pid, version, "", pid ? "" : "not running");
}

/* PostgreSQL, munged and the launchers. */
static void local_rows(struct table *table, const struct instance *in, const char *postgres)
{
	char **nodes = instance_nodes(in);

	part_row(table, "PostgreSQL", "", instance_postgres(in), postgres);
	part_row(table, "munged", "", instance_munged(in), "");
	for (char **node = nodes; *node; node++)
		part_row(table, "launcher", *node, instance_launcher(in, *node), "");
	instance_names_free(nodes);
}

/* The daemons that the database knows. */
static void known_rows(struct table *table, const json_t *processes)
{
	const json_t *p;
	size_t i;

	json_array_foreach (processes, i, p)
		row(table, format_text(p, "role"), format_text(p, "name"), (pid_t)json_integer_value(json_object_get(p, "pid")),
		    format_text(p, "version"), format_when(json_object_get(p, "started_at")).s,
		    json_is_true(json_object_get(p, "leader"))	     ? "leader"
		    : json_is_false(json_object_get(p, "connected")) ? "not connected"
								     : "");
}

/* With the gate away: which daemons run all the same. */
static void daemon_rows(struct table *table, const struct instance *in, const char *kind)
{
	char **names = instance_daemons(in, kind);

	for (char **name = names; *name; name++)
		part_row(table, kind, *name + strlen(kind) + 1, instance_daemon(in, *name), "");
	instance_names_free(names);
}

/* The private instance that the configuration belongs to; false where it is a system installation or somebody else's. */
static bool instance_here(struct instance *in)
{
	struct err e = {0};

	return call_conf()->instance_home[0] && instance_open(in, NULL, &e) && !strcmp(in->home, call_conf()->instance_home);
}

static void print(const json_t *answer, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"ROLE", false, 0},    {"NAME", false, 4},  {"PID", true, 0},
		{"VERSION", false, 5}, {"SINCE", false, 1}, {"", false, 1},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *jobs = json_object_get(answer, "jobs"), *database = json_object_get(answer, "database");
	struct instance in = {.lock = -1};
	bool here = instance_here(&in);

	if (answer) {
		known_rows(table, json_object_get(answer, "processes"));
	} else if (here) {
		daemon_rows(table, &in, "jobmgrd");
		daemon_rows(table, &in, "nodemgrd");
	}
	if (here)
		local_rows(table, &in, format_text(database, "version"));
	table_print(table, stdout, wide);
	table_free(table);
	instance_close(&in);
	if (answer)
		printf("\ngate: answers on %s\njobs: %s waiting, %s running\n",
		       call_conf()->gate_url[0] ? call_conf()->gate_url : call_conf()->gate_socket,
		       format_count(json_object_get(jobs, "pending")).s, format_count(json_object_get(jobs, "running")).s);
}

int verb_status(int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb_find("status"), argc, argv);
	bool wide = false, json = false;
	struct err e = {0};
	json_t *answer = NULL;

	for (int id; (id = verb_next(&scan));) {
		wide |= id == 'w';
		json |= id == VERB_JSON;
	}
	verb_operands(&scan, 0, 0);
	if (!call_try(call_conf(), "status", NULL, &answer, &e) && json) {
		call_error(&e);
		return EXIT_NO_GATE;
	}
	if (json)
		call_print_json();
	else
		print(answer, wide);
	if (!answer) {
		printf("\ngate: no answer\n");
		call_error(&e);
	}
	json_decref(answer);
	return answer ? EXIT_OK : EXIT_NO_GATE;
}
