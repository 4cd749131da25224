/* agent_plugin.h - runs the site's program for figures of devices (node.sample_command). */
#ifndef ROTA_PROCMGR_AGENT_PLUGIN_H
#define ROTA_PROCMGR_AGENT_PLUGIN_H

#include <jansson.h>

#include "procmgr/agent/agent_context.h"

struct agent_plugin;

/* `figures` ({"gpu0.util": 35}) are the callee's own; NULL where the program failed. The plugin is freed already. */
typedef void agent_plugin_done(json_t *figures, void *arg);

/* Start the program; NULL, and logged, where that is not possible. */
struct agent_plugin *agent_plugin_start(const struct agent_context *c, agent_plugin_done *done, void *arg);
void agent_plugin_free(struct agent_plugin *p); /* kills the program if it still runs */

/* Read its output: a JSON object, or lines of NAME=number. Changes the text. New reference. */
json_t *agent_plugin_read(char *text);

#endif
