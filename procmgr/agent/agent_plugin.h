/* agent_plugin.h - runs the site's program for figures of devices and energy (node.sample_command). */
#ifndef ROTA_PROCMGR_AGENT_PLUGIN_H
#define ROTA_PROCMGR_AGENT_PLUGIN_H

#include <jansson.h>

#include "procmgr/agent/agent_context.h"

struct agent_plugin;

/* Called when the site's program has ended. The callee owns `figures`, such as {"gpu0.util": 35}. `figures` is NULL if the
 * program failed. The plugin is already freed. */
typedef void agent_plugin_done(json_t *figures, void *arg);

/* Start the site's program. Logs a warning and returns NULL if the program cannot be started. */
struct agent_plugin *agent_plugin_start(const struct agent_context *c, agent_plugin_done *done, void *arg);
void agent_plugin_free(struct agent_plugin *p); /* kills the site's program if the program still runs */

/* Parse the program's output, a JSON object or lines of NAME=number. Modifies `text`. Returns a new reference. */
json_t *agent_plugin_read(char *text);

#endif
