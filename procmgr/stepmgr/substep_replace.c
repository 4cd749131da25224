/* substep_replace.c - asks for a node in place of each that fails (substep_replace.h).
 *
 * Called by: substep_engine.c for each failed node.
 * Invariants:
 * - A node is asked for by a sub-step that runs `rota grow` on this node. So the journal has the sub-step, it is retried, and
 *   people see how it ended.
 * - The key of the sub-step names the failed node, so each failed node is replaced once, even if the step manager is killed. The
 *   client key of the growth names attempt and node, so a sub-step that runs twice asks for one node. */
#include "procmgr/stepmgr/substep_replace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_parts.h"

enum { RETRIES = 5 };

/* Returns the environment of this process, which is that of the step's tasks. */
static json_t *environment(void)
{
	json_t *list = json_array();
	for (char **variable = environ; *variable; variable++)
		json_array_append_new(list, json_string(*variable)); /* leave out a variable that is not UTF-8 */
	return list;
}

static const char *value_of(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

/* Returns the request `run` of a sub-step that asks for a node in place of `node`. */
static json_t *request_for(const struct substep_engine *m, const char *node)
{
	json_t *growth_key = json_sprintf("--client-key=replace %s.%s.%s %s", value_of("ROTA_JOB_ID"), value_of("ROTA_STEP_ID"),
					  value_of("ROTA_ATTEMPT"), node);
	json_t *argv = json_pack("[s, s, s, s+, o]", "rota", "grow", "--nodes=+1", "--exclude=", node, growth_key);
	return json_pack("{s:s+, s:s+, s:o, s:s, s:s, s:b, s:b, s:i}", "key", "replace ", node, "name", "replace-", node, "argv",
			 argv, "nodelist", m->node, "output", "none", "overlap", 1, "detach", 1, "retry", RETRIES);
}

struct substep_spec *substep_replace_spec(const struct substep_engine *m, const char *node)
{
	struct err e;
	if (!getenv("ROTA_REPLACE_FAILED"))
		return NULL;
	json_t *request = request_for(m, node), *env = environment();
	struct substep_spec *spec = request ? substep_spec_parse(request, env, "/", &e) : NULL;
	if (spec && json_object_get(m->keys, spec->key)) {
		substep_spec_free(spec);
		spec = NULL;
	}
	json_decref(request);
	json_decref(env);
	return spec;
}
