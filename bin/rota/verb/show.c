/* show.c - `rota show`: jobs or single steps in full. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/print/attempts.h"
#include "bin/rota/admin/staging_admin.h"
#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/join.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/output/output.h"
#include "bin/rota/print/peers.h"
#include "bin/rota/print/stats.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/steps/substep.h"
#include "bin/rota/steps/substep_show.h"

enum { SHOW_SCRIPT = 256, SHOW_ENVIRONMENT, SHOW_STATS, SHOW_HOOKS };

const struct verb_option show_options[] = {
	{'e', "elements", NULL, "also list the elements of arrays"},
	{SHOW_STATS, "stats", NULL, "print the usage of the steps: highest, mean and last values"},
	{SHOW_SCRIPT, "script", NULL, "print only the submitted script"},
	{SHOW_ENVIRONMENT, "environment", NULL, "print only the submitted environment"},
	{SHOW_HOOKS, "hooks", NULL, "also list the functions of burst_buffer.lua that were called for the job"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

struct show_line {
	bool elements, stats, script, environment, hooks, wide, json;
};

/* Returns why a job or step waits, or how it ended; "" if the exit code says that already. */
static const char *reason(const json_t *object)
{
	const char *message = format_text(object, "message"), *word = format_text(object, "reason");

	if (message[0])
		return message;
	return strcmp(word, "exit") && strcmp(word, "signal") && strcmp(word, format_text(object, "state")) ? word : "";
}

/* Print a line "  Name        value"; nothing for an empty value. */
static void line_print(const char *name, const char *value)
{
	if (value[0] && strcmp(value, "-"))
		printf("  %-11s %s\n", name, value);
}

/* Print the command line of the submission, cut to the width of the screen unless `wide` is true. */
static void command_print(const char *line, bool wide)
{
	enum { BEFORE = 14, LEAST = 20 };
	int width = wide ? 0 : table_width();
	char *text = xstrdup(line);

	if (width > 0)
		text[table_text_fit(text, width > BEFORE + LEAST ? width - BEFORE : LEAST)] = '\0';
	line_print("Command", text);
	free(text);
}

static struct word duration_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return format_duration(json_is_number(value) ? json_number_value(value) : -1);
}

/* Print when a job or step was submitted, started and ended, and how long it ran. */
static void times_print(const json_t *job)
{
	char text[200];

	line_print("Submitted", format_time(json_object_get(job, "submit_at")).s);
	if (json_is_string(json_object_get(job, "started_at"))) {
		snprintf(text, sizeof(text), "%s, %s %s", format_time(json_object_get(job, "started_at")).s,
			 json_is_string(json_object_get(job, "ended_at")) ? "ran" : "runs since", format_ran(job).s);
		line_print("Started", text);
	} else {
		line_print("Expected", format_time(json_object_get(job, "expected_at")).s);
	}
	line_print("Ended", format_time(json_object_get(job, "ended_at")).s);
}

static void owner_print(const json_t *job)
{
	char *text = xasprintf("%s (uid %lld)%s%s", format_text(job, "user"),
			       (long long)json_integer_value(json_object_get(job, "uid")),
			       format_text(job, "account")[0] ? ", account " : "", format_text(job, "account"));

	line_print("Owner", text);
	free(text);
}

/* Print the arguments of the script, quoted for a shell. */
static void arguments_print(const json_t *job)
{
	const json_t *argument;
	char *text = xstrdup("");
	size_t i;

	json_array_foreach (json_object_get(job, "arguments"), i, argument) {
		char *quoted = format_shell(json_string_value(argument)),
		     *longer = xasprintf("%s%s%s", text, i ? " " : "", quoted);

		free(quoted);
		free(text);
		text = longer;
	}
	line_print("Arguments", text);
	free(text);
}

enum { MAILS_SHOWN = 20 };

/* Returns a mail as text: event, recipient, outcome; malloc'ed. */
static char *mail_text(const json_t *mail)
{
	const char *step = format_text(mail, "step"), *recipient = format_text(mail, "recipient");
	char *to = xasprintf("%s%s%s%s%s", format_text(mail, "event"), *step ? " of " : "", step, *recipient ? " to " : "",
			     recipient),
	     *text;

	if (json_is_string(json_object_get(mail, "sent_at")))
		text = xasprintf("%s, sent %s", to, format_time(json_object_get(mail, "sent_at")).s);
	else
		text = xasprintf("%s, %s%s%s", to, json_is_string(json_object_get(mail, "due_at")) ? "to be sent" : "not sent",
				 *format_text(mail, "message") ? ": " : "", format_text(mail, "message"));
	free(to);
	return text;
}

static void mails_print(const json_t *mails)
{
	const json_t *mail;
	size_t i;

	json_array_foreach (mails, i, mail) {
		char *text = i < MAILS_SHOWN ? mail_text(mail) : xasprintf("%zu more, see acct.mail", json_array_size(mails) - i);

		line_print("Mail", text);
		free(text);
		if (i == MAILS_SHOWN)
			break;
	}
}

/* Print what the site's script has set in the job. */
static void changes_print(const json_t *changes)
{
	const json_t *change;
	size_t i;

	json_array_foreach (changes, i, change) {
		const char *before = format_text(change, "before"), *after = format_text(change, "after");
		char *text = xasprintf("%s%s%s%s%s", format_text(change, "field"), *after ? " = " : " not given", after,
				       *before ? ", before: " : "", before);

		line_print("Site set", text);
		free(text);
	}
}

/* Print the job itself, without its steps. */
static void job_print(const json_t *job, bool wide)
{
	char *words = outcome_words(job);
	char progress[96];

	snprintf(progress, sizeof(progress), "%lld of %lld steps done",
		 (long long)json_integer_value(json_object_get(job, "steps_done")),
		 (long long)json_integer_value(json_object_get(job, "steps_total")));
	printf("job %lld: %s, %s\n", (long long)json_integer_value(json_object_get(job, "job_id")), words, progress);
	free(words);
	line_print("Name", format_text(job, "name"));
	owner_print(job);
	line_print("Partition", format_text(job, "partition"));
	line_print("QOS", format_text(job, "qos"));
	line_print("Priority", format_count(json_object_get(job, "priority")).s);
	times_print(job);
	line_print("Reason", reason(job));
	command_print(format_text(job, "submit_line"), wide);
	line_print("Script", format_text(job, "script_name"));
	arguments_print(job);
	line_print("Folder", format_text(job, "workdir"));
	line_print("Comment", format_text(job, "comment"));
	line_print("Mail to", format_text(job, "mail_user"));
	line_print("Mail on", format_text(job, "mail_type"));
	mails_print(json_object_get(job, "mails"));
	changes_print(json_object_get(job, "changes"));
}

/* Returns the progress of an array as "40/100", "" for another step. */
static struct word progress(const json_t *step)
{
	const json_t *array = json_object_get(step, "array");
	struct word w = {""};

	if (json_is_object(array))
		snprintf(w.s, sizeof(w.s), "%lld/%lld",
			 (long long)(json_integer_value(json_object_get(array, "completed")) +
				     json_integer_value(json_object_get(array, "failed"))),
			 (long long)json_integer_value(json_object_get(array, "size")));
	return w;
}

static void step_row(struct table *table, const json_t *step)
{
	const char *state = format_text(step, "state"), *label = format_text(step, "label"), *dot = strchr(label, '.');
	char *after = peers_text(step, false);
	int attempt = (int)json_integer_value(json_object_get(step, "attempt"));

	table_cell(table, dot ? dot + 1 : label);
	table_cell_coloured(table, state, format_state_colour(state));
	table_cell(table, progress(step).s);
	table_cell(table, format_ran(step).s);
	table_cell(table, format_exit(json_object_get(step, "exit_code"), json_object_get(step, "signal")).s);
	table_cell(table, attempt > 1 ? format_count(json_object_get(step, "attempt")).s : "");
	table_cell(table, format_text(step, "nodes"));
	table_cell(table, after);
	table_cell(table, reason(step));
	free(after);
}

/* Print warnings about nodes of a running step: failing, or drained or reserved within its time limit. Skips warnings in
 * `said`, which were printed before. */
static void warnings_print(const json_t *step, json_t *said)
{
	const json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(step, "warnings"), i, warning) {
		char *text = xasprintf("%s: %s", format_text(warning, "node"), format_text(warning, "message"));

		if (!json_object_get(said, text))
			line_print("Warning", text);
		json_object_set_new(said, text, json_true());
		free(text);
	}
}

static void steps_print(const json_t *steps, bool wide)
{
	static const struct table_column COLUMNS[] = {
		{"STEP", false, 10}, {"STATE", false, 0}, {"DONE", true, 3},   {"TIME", true, 0},     {"EXIT", true, 1},
		{"TRY", true, 1},    {"NODES", false, 5}, {"AFTER", false, 8}, {"REASON", false, 12},
	};
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *step;
	size_t i;

	json_array_foreach (steps, i, step)
		step_row(table, step);
	putchar('\n');
	table_print(table, stdout, wide);
	table_free(table);
}

/* Print what a step is allocated, or requests, as "2 CPUs, 4G memory, 1 task". */
static void size_print(const json_t *step)
{
	long long cpus = json_integer_value(json_object_get(step, "cpus")),
		  tasks = json_integer_value(json_object_get(step, "ntasks"));
	bool memory = json_integer_value(json_object_get(step, "mem_mb")) > 0; /* 0: all memory of the node */
	char text[128];

	snprintf(text, sizeof(text), "%lld CPU%s, %s%s%lld task%s", cpus, cpus == 1 ? "" : "s",
		 memory ? format_size_mb(json_object_get(step, "mem_mb")).s : "", memory ? " memory, " : "", tasks,
		 tasks == 1 ? "" : "s");
	line_print("Size", text);
}

/* Print amounts {"gpu": 2, "fpga": 1} as "gpu:2,fpga:1". */
static void amounts_print(const char *name, const json_t *amounts)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const json_t *count;
	const char *key;

	if (!out)
		die("out of memory");
	json_object_foreach ((json_t *)amounts, key, count)
		fprintf(out, "%s%s:%lld", ftell(out) ? "," : "", key, (long long)json_integer_value(count));
	if (fclose(out))
		die("out of memory");
	line_print(name, text);
	free(text);
}

static void names_print(const char *name, const json_t *names)
{
	char *text = join_text(names);

	line_print(name, text);
	free(text);
}

/* Print the resources that a suspended step keeps (--keep): {"mem": true, ...}. */
static void kept_print(const json_t *keep)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const json_t *kept;
	const char *key;

	if (!out)
		die("out of memory");
	json_object_foreach ((json_t *)keep, key, kept)
		if (json_is_true(kept))
			fprintf(out, "%s%s", ftell(out) ? "," : "", key);
	if (json_object_size(keep) && !ftell(out))
		fputs("none", out);
	if (fclose(out))
		die("out of memory");
	line_print("Keeps", text);
	free(text);
}

/* Print further requests of a step: nodes, devices, licences, times. */
static void wishes_print(const json_t *step)
{
	const json_t *lowest = json_object_get(step, "nodes_min"), *highest = json_object_get(step, "nodes_max");
	bool range = json_is_integer(highest) && !json_equal(lowest, highest);
	char nodes[160];

	snprintf(nodes, sizeof(nodes), "%s%s%s%s", format_count(lowest).s, range ? "-" : "", range ? format_count(highest).s : "",
		 json_is_true(json_object_get(step, "exclusive")) ? ", for itself alone" : "");
	line_print("Wants nodes", json_is_integer(lowest) && strcmp(nodes, "1") ? nodes : "");
	names_print("On nodes", json_object_get(step, "nodelist"));
	names_print("Not on", json_object_get(step, "exclude"));
	line_print("Constraint", format_text(step, "constraint"));
	amounts_print("Gres", json_object_get(step, "gres"));
	amounts_print("Licences", json_object_get(step, "licenses"));
	line_print("Group", format_text(step, "group"));
	line_print("Retries",
		   json_integer_value(json_object_get(step, "retry")) ? format_count(json_object_get(step, "retry")).s : "");
	line_print("Begin", format_time(json_object_get(step, "begin_at")).s);
	line_print("Deadline", format_time(json_object_get(step, "deadline_at")).s);
	line_print("Least time", json_is_integer(json_object_get(step, "time_min_s")) ? duration_of(step, "time_min_s").s : "");
	line_print("Requeue", json_is_false(json_object_get(step, "requeue")) ? "no" : "");
	kept_print(json_object_get(step, "keep"));
	line_print("Samples", json_is_integer(json_object_get(step, "sample_s")) ? duration_of(step, "sample_s").s : "");
	line_print("Signal", format_text(step, "limit_signal"));
	line_print("Idle limit",
		   json_is_integer(json_object_get(step, "idle_timeout_s")) ? duration_of(step, "idle_timeout_s").s : "");
	line_print("If changed", format_text(step, "if_changed"));
	line_print("Prolog", format_text(step, "prolog"));
	line_print("Epilog", format_text(step, "epilog"));
}

/* Print how the prolog and epilog hooks of an attempt ended: "site_prolog on n1: 0". */
static void hooks_print(const json_t *step)
{
	const json_t *hook;
	size_t i;

	json_array_foreach (json_object_get(step, "hooks"), i, hook) {
		const char *node = format_text(hook, "node"), *message = format_text(hook, "message");
		struct word status = format_exit(json_object_get(hook, "exit_code"), json_object_get(hook, "signal"));
		bool ended = json_is_string(json_object_get(hook, "ended_at"));
		char *text = xasprintf("%s%s%s: %s", format_text(hook, "hook"), node[0] ? " on " : "", node,
				       !ended	    ? "has not ended"
				       : message[0] ? message
						    : status.s);

		line_print("Hook", text);
		free(text);
	}
}

/* Print what becomes of the data of a job, and with `calls` the functions of burst_buffer.lua that were called for it. */
static void staging_print(const json_t *job, bool calls)
{
	const json_t *staging = json_object_get(job, "staging");
	const char *message = format_text(staging, "message");
	char *text = xasprintf("%s%s%s", format_text(staging, "state"), *message ? ": " : "", message);

	if (json_is_object(staging)) {
		line_print("Staging", text);
		if (calls)
			staging_admin_print_calls(json_object_get(staging, "calls"), "              ");
	}
	free(text);
}

/* Print one step in full. */
static void step_print(const json_t *job, const json_t *step)
{
	char *words = outcome_words(step), *after = peers_text(step, false);
	char *input = output_path(job, step, "input");
	char *output = output_path(job, step, "output"), *error = output_path(job, step, "error");
	int attempt = (int)json_integer_value(json_object_get(step, "attempt"));

	printf("step %s: %s\n", format_text(step, "label"), words);
	line_print("Partition", format_text(step, "partition"));
	size_print(step);
	wishes_print(step);
	line_print("Nodes", format_text(step, "nodes"));
	line_print("After", after);
	line_print("Array", progress(step).s);
	line_print("Attempt", attempt ? format_count(json_object_get(step, "attempt")).s : "");
	line_print("Held", format_text(step, "held"));
	line_print("Eligible", format_time(json_object_get(step, "eligible_at")).s);
	times_print(step);
	line_print("Limit",
		   json_number_value(json_object_get(step, "time_limit_s")) > 0 ? duration_of(step, "time_limit_s").s : "");
	line_print("Exit", format_exit(json_object_get(step, "exit_code"), json_object_get(step, "signal")).s);
	line_print("Cause", format_text(step, "cause"));
	line_print("Reason", reason(step));
	hooks_print(step);
	line_print("Sub-steps", format_substeps(json_object_get(step, "substeps")).s);
	line_print("Input", input ? input : "");
	line_print("Output", output ? output : "");
	line_print("Error", error ? error : "");
	line_print("Open mode", strcmp(format_text(step, "open_mode"), "append") ? "" : "append");
	free(error);
	free(input);
	free(output);
	free(after);
	free(words);
}

/* Print how many sub-steps each step of a job has, and how they are. */
static void substeps_print(const json_t *steps)
{
	const json_t *step;
	size_t i;

	json_array_foreach (steps, i, step) {
		const char *label = format_text(step, "label"), *dot = strchr(label, '.');
		struct word counts = format_substeps(json_object_get(step, "substeps"));
		char *text = xasprintf("%s: %s", dot ? dot + 1 : label, counts.s);

		line_print("Sub-steps", *counts.s ? text : "");
		free(text);
	}
}

/* Print a job with its steps. */
static void whole_print(const json_t *job, bool wide, bool hooks)
{
	const json_t *steps = json_object_get(job, "steps"), *step;
	json_t *said = json_object(), *attempts = json_array();
	size_t i;

	job_print(job, wide);
	staging_print(job, hooks);
	substeps_print(steps);
	json_array_foreach (steps, i, step) {
		warnings_print(step, said);
		attempts_add(attempts, step);
	}
	steps_print(steps, wide);
	attempts_print(job, attempts, wide);
	json_decref(attempts);
	json_decref(said);
}

/* Print single steps in full. */
static void parts_print(const json_t *job, bool wide)
{
	const json_t *step;
	size_t i;

	json_array_foreach (json_object_get(job, "steps"), i, step) {
		json_t *said = json_object(), *attempts = json_array();

		step_print(job, step);
		warnings_print(step, said);
		attempts_add(attempts, step);
		attempts_print(job, attempts, wide);
		json_decref(attempts);
		json_decref(said);
	}
}

/* Do the operands name only steps of the job, not the job itself? */
static bool steps_named(const json_t *operands, const json_t *job)
{
	struct word id = format_count(json_object_get(job, "job_id"));
	const json_t *operand;
	size_t i;

	json_array_foreach (operands, i, operand)
		if (!strcmp(json_string_value(operand), id.s))
			return false;
	return true;
}

static int show_print(const json_t *operands, const struct show_line *line)
{
	json_t *answer = call_gate("show", json_pack("{sO sb}", "jobs", operands, "elements", line->elements));
	const json_t *job;
	size_t i;

	if (!answer)
		return call_status();
	if (line->json) {
		call_print_json();
	} else {
		json_array_foreach (json_object_get(answer, "jobs"), i, job) {
			if (i)
				putchar('\n');
			if (steps_named(operands, job))
				parts_print(job, line->wide);
			else
				whole_print(job, line->wide, line->hooks);
		}
	}
	json_decref(answer);
	return EXIT_OK;
}

/* Print the script or the environment of a job (--script, --environment). */
static int script(const json_t *operands, const struct show_line *line)
{
	json_t *answer = call_gate("script", json_pack("{sO}", "jobs", operands));
	const json_t *variable;
	size_t i;

	if (!answer)
		return call_status();
	if (line->json)
		call_print_json();
	if (line->script && !line->json)
		fputs(format_text(answer, "script"), stdout);
	if (line->environment && !line->json)
		json_array_foreach (json_object_get(answer, "environment"), i, variable)
			puts(json_string_value(variable));
	json_decref(answer);
	return EXIT_OK;
}

int verb_show(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct show_line line = {0};
	json_t *operands;
	int status;

	for (int id; (id = verb_next(&scan));) {
		line.elements |= id == 'e';
		line.stats |= id == SHOW_STATS;
		line.script |= id == SHOW_SCRIPT;
		line.environment |= id == SHOW_ENVIRONMENT;
		line.hooks |= id == SHOW_HOOKS;
		line.wide |= id == 'w';
		line.json |= id == VERB_JSON;
	}
	verb_operands(&scan, 1, line.script || line.environment ? 1 : -1);
	if (substep_operands(&scan)) {
		if (line.elements || line.stats || line.script || line.environment)
			verb_misuse(verb, "these options are for jobs and steps, not for sub-steps");
		return substep_show(&scan, line.json);
	}
	operands = words_operands(&scan);
	if (line.stats)
		status = stats_show(operands, line.wide, line.json);
	else
		status = line.script || line.environment ? script(operands, &line) : show_print(operands, &line);
	json_decref(operands);
	return status;
}
