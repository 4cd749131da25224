/* trigger.c - `rota trigger`: adds, lists, shows and removes triggers, which have runnerd do something when an event happens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"

enum { TRIGGER_PROGRAM = 256, TRIGGER_WEBHOOK, TRIGGER_MAIL, TRIGGER_JOBS_OF, TRIGGER_LONGER };

const struct verb_option trigger_options[] = {
	{'o', "on", "EVENT", "job_start, job_end, step_fail, node_down, node_drained, node_up or queue_longer"},
	{'s', "state", "STATE[,STATE]...", "only jobs or steps that end in one of these states"},
	{'j', "job", "JOB", "only this job"},
	{TRIGGER_JOBS_OF, "jobs-of", "USER", "jobs of this user; me (default): your own; all: jobs of all users (operators)"},
	{'n', "node", "NODE", "only this node"},
	{TRIGGER_LONGER, "longer", "N", "of queue_longer: more than this number of waiting steps"},
	{TRIGGER_PROGRAM, "program", "PATH", "run this program (administrators)"},
	{TRIGGER_WEBHOOK, "webhook", "URL", "send the event to this URL"},
	{TRIGGER_MAIL, "mail", "ADDRESS", "send the event by mail"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* The command line of `rota trigger`. */
struct trigger_line {
	json_t *request; /* the trigger that the options describe; empty for the actions list, show and remove */
	bool wide, json;
};

/* Set the action of a trigger. A trigger has exactly one. */
static void line_set_action(const struct verb_scan *scan, json_t *request, const char *kind)
{
	if (json_object_get(request, "kind"))
		verb_misuse(scan->verb, "give one of --program, --webhook and --mail");
	json_object_set_new(request, "kind", json_string(kind));
	json_object_set_new(request, "target", words_text(scan));
}

static void line_read(struct verb_scan *scan, struct trigger_line *line)
{
	static const struct words_member members[] = {
		{'o', "event", WORDS_TEXT}, {'s', "states", WORDS_LIST},
		{'n', "node", WORDS_TEXT},  {TRIGGER_JOBS_OF, "jobs_of", WORDS_TEXT},
		{0, NULL, WORDS_TEXT},
	};

	for (int id; (id = verb_next(scan));) {
		if (words_member_set(scan, id, members, line->request))
			continue;
		if (id == 'j')
			json_object_set_new(line->request, "job", json_integer(verb_number(scan, 1, 999999999999999999)));
		else if (id == TRIGGER_LONGER)
			json_object_set_new(line->request, "longer_than", json_integer(verb_number(scan, 0, 2000000000)));
		else if (id == TRIGGER_PROGRAM)
			line_set_action(scan, line->request, "program");
		else if (id == TRIGGER_WEBHOOK)
			line_set_action(scan, line->request, "webhook");
		else if (id == TRIGGER_MAIL)
			line_set_action(scan, line->request, "mail");
		line->wide |= id == 'w';
		line->json |= id == VERB_JSON;
	}
}

/* Read the operands: the action, then arguments of the program or the number of the trigger. */
static const char *line_operands(struct verb_scan *scan, struct trigger_line *line)
{
	const char *action = scan->operands ? scan->argv[scan->at] : "list";
	bool add = !strcmp(action, "add"), list = !strcmp(action, "list");

	if (!add && !list && strcmp(action, "show") != 0 && strcmp(action, "remove") != 0)
		verb_misuse(scan->verb, "\"%s\" is no action: add, list, show or remove", action);
	if (!add && json_object_size(line->request))
		verb_misuse(scan->verb, "only \"add\" has options that describe a trigger");
	json_object_set_new(line->request, "action", json_string(action));
	if (add) {
		json_t *words = words_operands(scan);

		json_array_remove(words, 0);
		json_object_set_new(line->request, "arguments", words);
		return action;
	}
	verb_operands(scan, list ? 0 : 2, list ? 1 : 2);
	if (!list) {
		scan->value = scan->argv[scan->at + 1];
		if (!*scan->value || scan->value[strspn(scan->value, "0123456789")])
			verb_misuse(scan->verb, "\"%s\" is not the number of a trigger", scan->value);
		json_object_set_new(line->request, "trigger", words_text(scan));
	}
	return action;
}

/* Returns the events for which a trigger fires, such as "job_end failed,timeout, jobs of alice"; malloc'ed. */
static char *trigger_about(const json_t *trigger)
{
	const char *event = format_text(trigger, "event"), *user = format_text(trigger, "jobs_of"),
		   *node = format_text(trigger, "node");
	json_int_t job = json_integer_value(json_object_get(trigger, "job_id"));
	const json_t *state;
	char *text = xstrdup(event), *longer;
	size_t i;

	json_array_foreach (json_object_get(trigger, "states"), i, state) {
		longer = xasprintf("%s%s%s", text, i ? "," : " ", json_string_value(state));
		free(text);
		text = longer;
	}
	if (!strncmp(event, "queue", 5))
		longer = xasprintf("%s than %lld", text, (long long)json_integer_value(json_object_get(trigger, "longer_than")));
	else if (!strncmp(event, "node", 4))
		longer = xasprintf("%s, %s", text, *node ? node : "all nodes");
	else if (job)
		longer = xasprintf("%s, job %lld", text, (long long)job);
	else
		longer = xasprintf("%s, jobs of %s", text, *user ? user : "all");
	free(text);
	return longer;
}

static void triggers_print(const json_t *triggers, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"TRIGGER", true, 0}, {"USER", false, 6},    {"ON", false, 12},
		{"ACTION", false, 0}, {"TARGET", false, 12}, {"WAITING", true, 0},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *trigger;
	size_t i;

	json_array_foreach (triggers, i, trigger) {
		char *about = trigger_about(trigger);

		table_cell(table, format_count(json_object_get(trigger, "trigger")).s);
		table_cell(table, format_text(trigger, "user"));
		table_cell(table, about);
		table_cell(table, format_text(trigger, "action"));
		table_cell(table, format_text(trigger, "target"));
		table_cell(table, format_count(json_object_get(trigger, "waiting")).s);
		free(about);
	}
	table_print(table, stdout, wide);
	table_free(table);
}

/* Print the last deliveries of a trigger. If the trigger is not allowed, print the reason too. */
static void runs_print(const json_t *trigger, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"DELIVERY", true, 0}, {"FIRED", false, 0}, {"STATUS", false, 0},
		{"TRIES", true, 0},    {"CODE", true, 0},   {"MESSAGE", false, 12},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const char *objection = format_text(trigger, "objection");
	const json_t *run;
	size_t i;

	if (*objection)
		printf("Not allowed: %s\n", objection);
	json_array_foreach (json_object_get(trigger, "runs"), i, run) {
		const char *status = format_text(run, "status");

		table_cell(table, format_count(json_object_get(run, "delivery")).s);
		table_cell(table, format_when(json_object_get(run, "made_at")).s);
		table_cell(table, *status ? status : "waiting");
		table_cell(table, format_count(json_object_get(run, "tries")).s);
		table_cell(table, format_count(json_object_get(run, "code")).s);
		table_cell(table, format_text(run, "message"));
	}
	table_print(table, stdout, wide);
	table_free(table);
}

static void answer_print(const char *action, const json_t *answer, bool wide)
{
	const json_t *triggers = json_object_get(answer, "triggers"), *trigger = json_array_get(triggers, 0);
	const char *secret = format_text(answer, "secret");
	long long number = (long long)json_integer_value(json_object_get(trigger, "trigger"));

	if (!strcmp(action, "add")) {
		printf("trigger %lld\n", number);
		if (*secret)
			printf("secret %s\n", secret);
	} else if (!strcmp(action, "remove")) {
		printf("trigger %lld removed\n", number);
	} else {
		triggers_print(triggers, wide);
		if (!strcmp(action, "show"))
			runs_print(trigger, wide);
	}
}

int verb_trigger(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct trigger_line line = {.request = json_object()};
	const char *action;
	json_t *answer;

	line_read(&scan, &line);
	action = line_operands(&scan, &line);
	answer = call_gate("trigger", line.request);
	if (answer && line.json)
		call_print_json();
	else if (answer)
		answer_print(action, answer, line.wide);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}
