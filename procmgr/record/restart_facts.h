/* restart_facts.h - what a node has that images need which are restored there. */
#ifndef ROTA_PROCMGR_RECORD_RESTART_FACTS_H
#define ROTA_PROCMGR_RECORD_RESTART_FACTS_H

#include <jansson.h>

/* Returns {cpu: instruction sets, kernel: its release, dmtcp: its version}, as a new reference; {} without DMTCP. An image has the addresses of the
 * kernel's vDSO, and functions chosen for the CPU, and its form is that of one version. `dmtcp`: the folder of its programs; "": there is none. */
json_t *restart_facts(const char *dmtcp);

#endif
