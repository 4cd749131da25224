/* show_job.c - prints a job in `rota show`, without its steps: owner, command, times, and the staging of its data.
 *
 * Called by: verb/show.c. */
#include "bin/rota/print/show_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/admin/staging_admin.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/print/show_line.h"
#include "bin/rota/print/table.h"
#include "lib/err.h"
#include "lib/text.h"

/* Print the command line of the submission, cut to the width of the screen unless `wide` is true. */
static void command_print(const char *line, bool wide)
{
	enum { BEFORE = 14, LEAST = 20 };
	int width = wide ? 0 : table_width();
	char *text = xstrdup(line);

	if (width > 0)
		text[table_text_fit(text, width > BEFORE + LEAST ? width - BEFORE : LEAST)] = '\0';
	show_line_print("Command", text);
	free(text);
}

static void owner_print(const json_t *job)
{
	char *text = xasprintf("%s (uid %lld)%s%s", format_text(job, "user"),
			       (long long)json_integer_value(json_object_get(job, "uid")),
			       format_text(job, "account")[0] ? ", account " : "", format_text(job, "account"));

	show_line_print("Owner", text);
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
	show_line_print("Arguments", text);
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

		show_line_print("Mail", text);
		free(text);
		if (i == MAILS_SHOWN)
			break;
	}
}

/* Print each option of the job that the site's script job_submit changed, with its value before. */
static void changes_print(const json_t *changes)
{
	const json_t *change;
	size_t i;

	json_array_foreach (changes, i, change) {
		const char *before = format_text(change, "before"), *after = format_text(change, "after");
		char *text = xasprintf("%s%s%s%s%s", format_text(change, "field"), *after ? " = " : " not given", after,
				       *before ? ", before: " : "", before);

		show_line_print("Site set", text);
		free(text);
	}
}

/* Print the job itself, without its data and steps. */
static void job_print(const json_t *job, bool wide)
{
	char *words = outcome_words(job);
	char progress[96];

	snprintf(progress, sizeof(progress), "%lld of %lld step%s done",
		 (long long)json_integer_value(json_object_get(job, "steps_done")),
		 (long long)json_integer_value(json_object_get(job, "steps_total")),
		 text_plural(json_integer_value(json_object_get(job, "steps_total"))));
	printf("job %lld: %s, %s\n", (long long)json_integer_value(json_object_get(job, "job_id")), words, progress);
	free(words);
	show_line_print("Name", format_text(job, "name"));
	owner_print(job);
	show_line_print("Partition", format_text(job, "partition"));
	show_line_print("QOS", format_text(job, "qos"));
	show_line_print("Priority", format_count(json_object_get(job, "priority")).s);
	show_line_times(job);
	show_line_print("Reason", show_line_reason(job));
	command_print(format_text(job, "submit_line"), wide);
	show_line_print("Script", format_text(job, "script_name"));
	arguments_print(job);
	show_line_print("Folder", format_text(job, "workdir"));
	show_line_print("Comment", format_text(job, "comment"));
	show_line_print("Mail to", format_text(job, "mail_user"));
	show_line_print("Mail on", format_text(job, "mail_type"));
	mails_print(json_object_get(job, "mails"));
	changes_print(json_object_get(job, "changes"));
}

/* Print the staging of a job's data and, with `calls`, the functions of burst_buffer.lua that were called for it. */
static void staging_print(const json_t *job, bool calls)
{
	const json_t *staging = json_object_get(job, "staging");
	const char *message = format_text(staging, "message");
	char *text = xasprintf("%s%s%s", format_text(staging, "state"), *message ? ": " : "", message);

	if (json_is_object(staging)) {
		show_line_print("Staging", text);
		if (calls)
			staging_admin_print_calls(json_object_get(staging, "calls"), "              ");
		staging_admin_print_elements(json_object_get(staging, "elements"), calls, "              ");
	}
	free(text);
}

/* Print the numbers of sub-steps of each step of a job, by state. */
static void substeps_print(const json_t *steps)
{
	const json_t *step;
	size_t i;

	json_array_foreach (steps, i, step) {
		const char *label = format_text(step, "label"), *dot = strchr(label, '.');
		struct word counts = format_substeps(json_object_get(step, "substeps"));
		char *text = xasprintf("%s: %s", dot ? dot + 1 : label, counts.s);

		show_line_print("Sub-steps", *counts.s ? text : "");
		free(text);
	}
}

void show_job_print(const json_t *job, bool wide, bool hooks)
{
	job_print(job, wide);
	staging_print(job, hooks);
	substeps_print(json_object_get(job, "steps"));
}
