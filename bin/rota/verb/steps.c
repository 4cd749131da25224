/* steps.c - `rota steps`: lists the sub-steps of the step in which it runs. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/keys.h"
#include "bin/rota/print/picture.h"
#include "bin/rota/print/table.h"
#include "bin/rota/steps/allocation.h"
#include "bin/rota/steps/session.h"
#include "bin/rota/steps/usage.h"
#include "lib/err.h"

enum { STEPS_WATCH = 256, STEPS_SESSIONS, WATCH_MS = 1000 };

const struct verb_option steps_options[] = {
	{STEPS_WATCH, "watch", NULL, "redraw the table every second, until all sub-steps have ended or you press q"},
	{STEPS_SESSIONS, "sessions", NULL,
	 "only running terminals: name, resources, who is attached, for how long nobody used them"},
	VERB_OPTION_JSON_OWN,
	{0, NULL, NULL, NULL},
};

/* Returns the state of a sub-step, with the reason why it waits or the cause of its failure; malloc'ed. */
static char *steps_state(const json_t *row)
{
	const char *state = format_text(row, "state"), *reason = format_text(row, "reason"), *cause = format_text(row, "cause");

	if (*reason)
		return xasprintf("%s (%s)", state, reason);
	if ((!strcmp(state, "failed") || !strcmp(cause, "idle_timeout")) && *cause && strcmp(cause, "exit") != 0)
		return xasprintf("%s (%s)", state, cause);
	return xstrdup(state);
}

static bool steps_live(const char *state)
{
	return !strcmp(state, "waiting") || !strcmp(state, "running");
}

static void steps_add_row(struct table *t, const json_t *row)
{
	const char *raw = format_text(row, "state");
	bool ended = !steps_live(raw);
	json_int_t signal = json_integer_value(json_object_get(row, "signal"));
	char *state = steps_state(row);

	table_cell(t, format_count(json_object_get(row, "substep")).s);
	table_cell(t, format_text(row, "name"));
	table_cell_coloured(t, state, format_state_colour(raw));
	table_cell(t, format_count(json_object_get(row, "tasks")).s);
	table_cell(t, format_count(json_object_get(row, "cpus")).s);
	table_cell(t, usage_percent(row).s);
	table_cell(t, usage_memory(row).s);
	table_cell(t, strcmp(raw, "waiting") ? format_duration(json_number_value(json_object_get(row, "elapsed_s"))).s : "-");
	table_cell(t, !ended ? "-" : signal ? format_signal((int)signal).s : format_count(json_object_get(row, "exit")).s);
	free(state);
}

static char *session_attached(const json_t *row)
{
	char *text = xstrdup("");
	const json_t *person;
	size_t i;

	json_array_foreach (json_object_get(row, "attached"), i, person) {
		char *longer =
			xasprintf("%s%s%s@%s", text, i ? "," : "", format_text(person, "user"), format_text(person, "host"));

		free(text);
		text = longer;
	}
	return text;
}

/* Print a table of running sessions, the sub-steps that have a terminal. */
static void sessions_print(const json_t *list, FILE *out)
{
	static const struct table_column columns[] = {
		{"ID", true, 0},      {"SESSION", false, 8}, {"CPUS", true, 0},	 {"MEMORY", true, 0},	 {"GRES", false, 6},
		{"ELAPSED", true, 0}, {"IDLE", true, 0},     {"LIMIT", true, 0}, {"LIMIT OF", false, 8}, {"ATTACHED", false, 8}};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	const json_t *row;
	size_t i;

	json_array_foreach ((json_t *)list, i, row) {
		double limit = json_number_value(json_object_get(row, "idle_timeout_s"));
		char *attached = session_attached(row);

		table_cell(t, format_count(json_object_get(row, "substep")).s);
		table_cell(t, format_text(row, "session"));
		table_cell(t, format_count(json_object_get(row, "cpus")).s);
		table_cell(t, format_size_mb(json_object_get(row, "mem_mb")).s);
		table_cell(t, format_text(row, "gres"));
		table_cell(t, format_duration(json_number_value(json_object_get(row, "elapsed_s"))).s);
		table_cell(t, format_duration(json_number_value(json_object_get(row, "idle_s"))).s);
		table_cell(t, limit > 0 ? format_duration(limit).s : "-");
		table_cell(t, limit > 0 ? format_text(row, "idle_timeout_of") : "-");
		table_cell(t, *attached ? attached : "-");
		free(attached);
	}
	table_print(t, out, false);
	table_free(t);
}

/* Returns a list of those sub-steps of `list` that run and have a terminal. Frees `list`. */
static json_t *sessions_of(json_t *list)
{
	json_t *sessions = json_array(), *row;
	size_t i;

	json_array_foreach (list, i, row) {
		if (json_object_get(row, "session"))
			json_array_append(sessions, row);
	}
	json_decref(list);
	return sessions;
}

/* Print a table of the sub-steps in a list. Returns the number of sub-steps that have not ended. */
static size_t steps_print(const json_t *list, FILE *out)
{
	static const struct table_column columns[] = {{"ID", true, 0},	   {"NAME", false, 8},	 {"STATE", false, 10},
						      {"TASKS", true, 0},  {"CPUS", true, 0},	 {"CPU%", true, 0},
						      {"MEMORY", true, 0}, {"ELAPSED", true, 0}, {"EXIT", true, 0}};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	const json_t *row;
	size_t i, live = 0;

	json_array_foreach ((json_t *)list, i, row) {
		steps_add_row(t, row);
		live += steps_live(format_text(row, "state"));
	}
	table_print(t, out, false);
	table_free(t);
	return live;
}

/* Draw the table until all sub-steps have ended. */
static bool steps_watch(struct rota_steps *steps)
{
	size_t live = 1;

	keys_take(picture_leave, 128 + SIGINT);
	while (live) {
		json_t *list = usage_list(steps);
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (!out)
			die("out of memory");
		live = list ? steps_print(list, out) : 0;
		fclose(out);
		if (list)
			picture_text(text);
		free(text);
		if (!list) {
			picture_leave();
			return false;
		}
		json_decref(list);
		if (live && keys_rest(WATCH_MS))
			break;
	}
	picture_leave();
	return true;
}

/* Print the list of sub-steps (or sessions) once, as a table or as JSON. */
static bool steps_list(struct rota_steps *steps, bool sessions, bool json)
{
	json_t *list = sessions ? rota_steps_list(steps) : usage_list(steps);
	char *text;

	if (!list)
		return false;
	if (sessions)
		list = sessions_of(list);
	if (!json && sessions) {
		sessions_print(list, stdout);
	} else if (!json) {
		steps_print(list, stdout);
	} else {
		text = json_dumps(list, JSON_INDENT(2));
		printf("{\"%s\": %s}\n", sessions ? "sessions" : "substeps", text ? text : "[]");
		free(text);
	}
	json_decref(list);
	return true;
}

int verb_steps(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	const char *own = getenv("ROTA_JOB_ID");
	bool watch = false, json = false, sessions = false, good;
	struct rota_steps *steps;
	int status = EXIT_OK, number;

	for (int id; (id = verb_next(&scan));) {
		watch |= id == STEPS_WATCH;
		sessions |= id == STEPS_SESSIONS;
		json |= id == VERB_JSON;
	}
	if (watch && sessions)
		verb_misuse(verb, "--watch cannot be combined with --sessions");
	verb_operands(&scan, 0, 1);
	if (scan.operands && (!own || strcmp(own, argv[scan.at]) != 0) &&
	    !allocation_find(verb->name, argv[scan.at], &number, &status))
		return status;
	steps = session_open(verb->name, &status);
	if (!steps)
		return status;
	good = watch && !json && isatty(STDOUT_FILENO) ? steps_watch(steps) : steps_list(steps, sessions, json);
	if (!good)
		status = session_failed(verb->name, steps);
	rota_steps_disconnect(steps);
	return status;
}
