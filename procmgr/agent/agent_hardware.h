/* agent_hardware.h - the hardware of the node. */
#ifndef ROTA_PROCMGR_AGENT_HARDWARE_H
#define ROTA_PROCMGR_AGENT_HARDWARE_H

#include <jansson.h>

#include "lib/conf.h"

/* Returns the argument of api.node_register, {"nodes": [{...}]}, as a new reference. */
json_t *agent_hardware_facts(const struct conf *conf, const char *node);
const char *agent_version(const struct conf *conf); /* Rota's version, with "(dry run)" if launcher.dry_run is set */

#endif
