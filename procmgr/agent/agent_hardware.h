/* agent_hardware.h - the hardware of the node. */
#ifndef ROTA_PROCMGR_AGENT_HARDWARE_H
#define ROTA_PROCMGR_AGENT_HARDWARE_H

#include <jansson.h>

#include "lib/conf.h"

/* The argument of api.node_register: {"nodes": [{...}]}; new reference. */
json_t *agent_hardware_facts(const struct conf *conf, const char *node);
const char *agent_version(const struct conf *conf); /* also says that nothing is run (launcher.dry_run) */

#endif
