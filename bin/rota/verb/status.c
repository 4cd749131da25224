/* status.c - `rota status`: lists every process of the instance, and says whether jobmgrd answers.
 *
 * The list of daemons comes from the database. PostgreSQL, munged and launchers of a private instance are searched on this
 * machine, so `rota status` also works while jobmgrd does not answer. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/instance/instance.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "lib/certificate.h"
#include "lib/text.h"

const struct verb_option status_options[] = {
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON_OWN,
	{0, NULL, NULL, NULL},
};

/* Open the private instance of this configuration. Returns false for a system installation, or another user's instance. */
static bool instance_here(struct instance *in)
{
	struct err e = {0};

	return call_conf()->instance_home[0] && instance_open(in, NULL, &e) && !strcmp(in->home, call_conf()->instance_home);
}

/* Returns true if the database's list of daemons has this process of the instance too. */
static bool process_is_known(const json_t *processes, const json_t *part)
{
	const json_t *p;
	size_t i;

	json_array_foreach (processes, i, p)
		if (!strcmp(format_text(p, "role"), format_text(part, "role")) &&
		    !strcmp(format_text(p, "name"), format_text(part, "name")) &&
		    !strcmp(format_text(p, "node"), format_text(part, "node")))
			return true;
	return false;
}

/* Returns the processes of an answer (NULL: no answer), then the processes that only a search of this machine finds. */
static json_t *processes_all(const json_t *answer)
{
	json_t *all = answer ? json_copy(json_object_get(answer, "processes")) : json_array(), *parts, *part;
	const json_t *database = json_object_get(answer, "database");
	struct instance in = {.lock = -1};
	size_t i;

	if (instance_here(&in)) {
		parts = instance_parts(&in);
		json_array_foreach (parts, i, part) {
			if (!strcmp(format_text(part, "role"), "PostgreSQL") && database)
				json_object_set(part, "version", json_object_get(database, "version"));
			if (!process_is_known(all, part))
				json_array_append(all, part);
		}
		json_decref(parts);
	}
	instance_close(&in);
	return all;
}

/* Returns the note on a process. Only a user who may read the pid file can see that a process does not run. */
static const char *process_note(const json_t *process)
{
	if (json_is_true(json_object_get(process, "leader")))
		return "leader";
	if (json_is_false(json_object_get(process, "connected")))
		return "not connected";
	return json_is_integer(json_object_get(process, "pid")) ? "" : "not running";
}

/* Returns the node that the process serves, or its host. A process without a host connects by a Unix socket, so it runs on the
 * host of the database. */
static const char *process_place(const json_t *process)
{
	static char here[256];
	const char *node = format_text(process, "node"), *host = format_text(process, "host");

	gethostname(here, sizeof(here) - 1);
	return node[0] ? node : host[0] ? host : call_conf()->instance_home[0] ? here : "";
}

static void row(struct table *table, const json_t *process)
{
	const char *note_text = process_note(process);

	table_cell(table, format_text(process, "role"));
	table_cell(table, format_text(process, "name"));
	table_cell(table, process_place(process));
	table_cell(table, format_count(json_object_get(process, "pid")).s);
	table_cell(table, format_text(process, "version"));
	table_cell(table, format_when(json_object_get(process, "started_at")).s);
	table_cell_coloured(table, note_text, !strcmp(note_text, "leader") ? "32" : note_text[0] ? "31" : "");
}

/* Print the database sessions that Rota ended in the last day; the answer has them only for operators and administrators. */
static void sessions_print(const json_t *ended)
{
	const json_t *one;
	size_t i;

	json_array_foreach (ended, i, one)
		printf("database session of %s ended %s: %s\n", format_text(one, "name"),
		       format_when(json_object_get(one, "last_at")).s, format_text(one, "reason"));
}

/* Print for how long the certificate of a jobmgrd is valid, in the same words as jobmgrd's log. */
static void certificate_print(const json_t *process)
{
	const json_t *left = json_object_get(process, "certificate_days_left");
	int days = (int)json_integer_value(left);

	if (!left)
		return;
	printf("HTTPS: the certificate of jobmgrd \"%s\" ", format_text(process, "name"));
	if (days < 0)
		printf("has expired; clients refuse it\n");
	else
		printf("is valid for %d day%s%s\n", days, text_plural(days), days < CERTIFICATE_WARN_DAYS ? "; renew it" : "");
}

static void status_print(const json_t *answer, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"ROLE", false, 0},    {"NAME", false, 4},  {"NODE", false, 4}, {"PID", true, 0},
		{"VERSION", false, 5}, {"SINCE", false, 1}, {"", false, 1},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *jobs = json_object_get(answer, "jobs"), *process;
	size_t i;

	json_array_foreach (json_object_get(answer, "processes"), i, process)
		row(table, process);
	table_print(table, stdout, wide);
	table_free(table);
	if (jobs)
		printf("\njobmgrd: answers on %s\njobs: %s waiting, %s running\n",
		       call_conf()->gate_url[0] ? call_conf()->gate_url : call_conf()->gate_socket,
		       format_count(json_object_get(jobs, "pending")).s, format_count(json_object_get(jobs, "running")).s);
	else
		printf("\njobmgrd: no answer\n");
	json_array_foreach (json_object_get(answer, "processes"), i, process)
		certificate_print(process);
	sessions_print(json_object_get(answer, "sessions_ended"));
}

int verb_status(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	bool wide = false, json = false, answered;
	struct err e = {0};
	json_t *answer = NULL;

	for (int id; (id = verb_next(&scan));) {
		wide |= id == 'w';
		json |= id == VERB_JSON;
	}
	verb_operands(&scan, 0, 0);
	answered = call_try(call_conf(), "status", NULL, &answer, &e);
	if (!answer)
		answer = json_object();
	json_object_set_new(answer, "processes", processes_all(answered ? answer : NULL));
	if (json) {
		json_dumpf(answer, stdout, JSON_COMPACT);
		putchar('\n');
	} else
		status_print(answer, wide);
	if (!answered)
		call_error(&e);
	json_decref(answer);
	return answered ? EXIT_OK : EXIT_NO_GATE;
}
