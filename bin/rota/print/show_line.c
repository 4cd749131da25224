/* show_line.c - the lines "  Name        value" of `rota show`, and those that jobs, steps and sub-steps have in common.
 *
 * Called by: show_job.c, show_step.c and steps/substep_show.c. */
#include "bin/rota/print/show_line.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/print/format.h"
#include "lib/text.h"

void show_line_print(const char *name, const char *value)
{
	if (value[0] && strcmp(value, "-"))
		printf("  %-11s %s\n", name, value);
}

const char *show_line_reason(const json_t *object)
{
	const char *message = format_text(object, "message"), *word = format_text(object, "reason");

	if (message[0])
		return message;
	return strcmp(word, "exit") && strcmp(word, "signal") && strcmp(word, format_text(object, "state")) ? word : "";
}

void show_line_times(const json_t *job)
{
	char text[200];

	show_line_print("Submitted", format_time(json_object_get(job, "submit_at")).s);
	if (json_is_string(json_object_get(job, "started_at"))) {
		snprintf(text, sizeof(text), "%s, %s %s", format_time(json_object_get(job, "started_at")).s,
			 json_is_string(json_object_get(job, "ended_at")) ? "ran" : "runs since", format_ran(job).s);
		show_line_print("Started", text);
	} else {
		show_line_print("Expected", format_time(json_object_get(job, "expected_at")).s);
	}
	show_line_print("Ended", format_time(json_object_get(job, "ended_at")).s);
}

void show_line_size(const json_t *step, const char *memory_key)
{
	long long cpus = json_integer_value(json_object_get(step, "cpus")),
		  tasks = json_integer_value(json_object_get(step, "ntasks"));
	bool memory = json_integer_value(json_object_get(step, memory_key)) > 0; /* 0: all memory of the node */
	char text[128];

	snprintf(text, sizeof(text), "%lld CPU%s, %s%s%lld task%s", cpus, text_plural(cpus),
		 memory ? format_size_mb(json_object_get(step, memory_key)).s : "", memory ? " memory, " : "", tasks,
		 text_plural(tasks));
	show_line_print("Size", text);
}
