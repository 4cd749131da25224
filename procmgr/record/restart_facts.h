/* restart_facts.h - what a node has that images need which are restored there. */
#ifndef ROTA_PROCMGR_RECORD_RESTART_FACTS_H
#define ROTA_PROCMGR_RECORD_RESTART_FACTS_H

#include <stdbool.h>

#include <jansson.h>

/* Returns {cpu: instruction sets, kernel: its release, dmtcp: its version}, as a new reference; {} without DMTCP. An image has the addresses of the
 * kernel's vDSO, and functions chosen for the CPU, and its form is that of one version. The version is left out while DMTCP does not say it. `dmtcp`: the folder of its programs; "":
 * there is none. */
json_t *restart_facts(const char *dmtcp);

/* Is the version of DMTCP among the facts, or is there no DMTCP? */
bool restart_facts_are_whole(const json_t *facts);

#endif
