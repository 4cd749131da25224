/* output.c - makes the path of a step's output file from its pattern, as the keeper does (lib/pattern.h). For `rota show` and
 * `rota log`.
 *
 * The path has the job name that was sent to the node, because the job may have been renamed since the file was opened. If a
 * step has several tasks, the path is that of the first task. */
#include "bin/rota/output/output.h"

#include <stdlib.h>
#include <string.h>

#include "bin/rota/print/format.h"
#include "lib/err.h"
#include "lib/pattern.h"

/* Returns the first node in the list of a step's nodes ("n1,n2"); malloc'ed, NULL if there is none. */
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
