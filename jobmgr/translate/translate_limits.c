/* translate_limits.c - reads the limits of submissions and the partitions from JSON.
 *
 * Called by: gate_translate.c with the answer of api.submit_limits; `rota check`. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/translate.h"

#define SCRIPT_BYTES ((size_t)4 << 20)
enum { STEPS = 10000, EDGES = 100000, ELEMENTS = 10000000 };

const struct translate_limits translate_limits_default = {
	.script_bytes = SCRIPT_BYTES, .steps = STEPS, .edges = EDGES, .array = ELEMENTS};

/* Read a member of a JSON object as an integer from `lowest` to `highest`. An absent or null member gives `otherwise`. */
static bool limits_read_member(const json_t *object, const char *key, int64_t lowest, int64_t highest, int64_t otherwise,
			       int64_t *value, struct err *e)
{
	const json_t *json = json_object_get(object, key);
	*value = otherwise;
	if (!json || json_is_null(json))
		return true;
	*value = json_integer_value(json);
	return (json_is_integer(json) && *value >= lowest && *value <= highest) ||
	       err_set(e, "\"%s\" is not a number from %lld to %lld", key, (long long)lowest, (long long)highest);
}

static bool limits_read_partition(const json_t *json, struct translate_partition *p, struct err *e)
{
	int64_t nodes, cpus, node_cpus, max_nodes;
	const json_t *gres = json_object_get(json, "node_gres"), *features = json_object_get(json, "features");
	p->name = json_string_value(json_object_get(json, "name"));
	if (!p->name)
		return err_set(e, "a partition in the database's answer has no name (api.submit_limits)");
	if (!limits_read_member(json, "nodes", 0, INT_MAX, 0, &nodes, e) ||
	    !limits_read_member(json, "cpus", 0, INT64_MAX, 0, &cpus, e) ||
	    !limits_read_member(json, "node_cpus", 0, INT_MAX, 0, &node_cpus, e) ||
	    !limits_read_member(json, "node_mem_mb", 0, INT64_MAX, 0, &p->node_mem_mb, e) ||
	    !limits_read_member(json, "max_time_s", 0, INT64_MAX, 0, &p->max_time_s, e) ||
	    !limits_read_member(json, "max_nodes", 0, INT_MAX, 0, &max_nodes, e))
		return false;
	p->nodes = (int)nodes;
	p->cpus = cpus;
	p->node_cpus = (int)node_cpus;
	p->max_nodes = (int)max_nodes;
	p->node_gres = json_is_object(gres) ? gres : NULL;
	p->features = json_is_array(features) ? features : NULL;
	p->credentials = json_string_value(json_object_get(json, "credentials"));
	p->is_default = json_is_true(json_object_get(json, "is_default"));
	return true;
}

static bool limits_read_partitions(const json_t *list, struct translate_limits *limits, struct err *e)
{
	if (!list || json_is_null(list))
		return true;
	if (!json_is_array(list))
		return err_set(e, "\"partitions\" in the database's answer is not a list (api.submit_limits)");
	limits->know_partitions = true;
	limits->partitions = xcalloc(json_array_size(list) + 1, sizeof *limits->partitions);
	for (size_t i = 0; i < json_array_size(list); i++, limits->partition_count++)
		if (!limits_read_partition(json_array_get(list, i), &limits->partitions[i], e))
			return false;
	return true;
}

bool translate_limits_read(const json_t *facts, struct translate_limits *limits, struct err *e)
{
	int64_t bytes, steps, edges;
	*limits = translate_limits_default;
	limits->facts = json_incref((json_t *)facts);
	if (limits_read_member(facts, "script_bytes", 1, INT_MAX, SCRIPT_BYTES, &bytes, e) &&
	    limits_read_member(facts, "steps", 1, INT_MAX, STEPS, &steps, e) &&
	    limits_read_member(facts, "edges", 0, INT_MAX, EDGES, &edges, e) &&
	    limits_read_member(facts, "array", 1, INT_MAX - 1, ELEMENTS, &limits->array, e) &&
	    limits_read_partitions(json_object_get(facts, "partitions"), limits, e)) {
		limits->script_bytes = (size_t)bytes;
		limits->steps = (int)steps;
		limits->edges = (int)edges;
		return true;
	}
	translate_limits_free(limits);
	return false;
}

void translate_limits_free(struct translate_limits *limits)
{
	free(limits->partitions);
	json_decref(limits->facts);
	*limits = translate_limits_default;
}
