/* output.c - from a step's pattern to the path that its keeper opens (lib/pattern.h), for `rota show` and `rota log`.
 *
 * The job's name in it is the one that the step's spec has: the job may have got another since the file was opened.
 * Of a step with several tasks the path is the first task's. */
#include "bin/rota/output/output.h"

#include <stdlib.h>
#include <string.h>

#include "bin/rota/print/format.h"
#include "lib/err.h"
#include "lib/pattern.h"

/* The first name of "n1,n2"; malloc'ed, NULL where there is none. */
static char *first_node(const json_t *step)
{
	const char *nodes = format_text(step, "nodes");

	return nodes[0] ? xstrndup(nodes, strcspn(nodes, ",")) : NULL;
}

char *output_path(const json_t *job, const json_t *step, const char *key)
{
	const char *pattern = json_string_value(json_object_get(step, key));
	const char *workdir = format_text(step, "workdir")[0] ? format_text(step, "workdir") : format_text(job, "workdir");
	const char *name = format_text(step, "job_name")[0] ? format_text(step, "job_name") : format_text(job, "name");
	const json_t *index = json_object_get(step, "array_index");
	char *node = first_node(step), *path = NULL;
	struct pattern_facts facts = {
		.job_id = json_integer_value(json_object_get(job, "job_id")),
		.step_id = (int)json_integer_value(json_object_get(step, "step_id")),
		.step_name = format_text(step, "name"),
		.job_name = name,
		.user = format_text(job, "user"),
		.array = json_is_integer(index) || json_is_object(json_object_get(step, "array")),
		.array_index = json_is_integer(index) ? (int)json_integer_value(index) : -1,
		.attempt = (int)json_integer_value(json_object_get(step, "attempt")),
		.append = !strcmp(format_text(step, "open_mode"), "append"),
		.node = node,
		.node_index = node ? 0 : -1,
		.task = 0,
	};

	if (pattern && !strcmp(key, "output"))
		path = pattern_output(pattern, &facts, workdir);
	else if (pattern && pattern[0])
		path = pattern_path(pattern, &facts, workdir);
	free(node);
	return path;
}
