/* restart_facts.h - what a node has that images need which are restored there. */
#ifndef ROTA_PROCMGR_RECORD_RESTART_FACTS_H
#define ROTA_PROCMGR_RECORD_RESTART_FACTS_H

#include <stdbool.h>

#include <jansson.h>

/* Returns {cpu: instruction sets, kernel: its release, dmtcp: its version, criu: its version}, as a new reference; {} without both. An image has the addresses of the
 * kernel's vDSO, and functions chosen for the CPU, and its form is that of one version. A version is left out while the program does not say it. `dmtcp`, `criu`: folders of
 * programs; "": there is none. */
json_t *restart_facts(const char *dmtcp, const char *criu);

/* Are the versions of all that there is among the facts? Returns the program that did not say its version; NULL: all did. */
const char *restart_facts_lacking(const json_t *facts, const char *dmtcp, const char *criu);

#endif
