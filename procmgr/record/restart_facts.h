/* restart_facts.h - properties of a node that a checkpoint image needs in order to be restored there. */
#ifndef ROTA_PROCMGR_RECORD_RESTART_FACTS_H
#define ROTA_PROCMGR_RECORD_RESTART_FACTS_H

#include <stdbool.h>

#include <jansson.h>

/* Returns {cpu: instruction sets, kernel: release, dmtcp: version, criu: version}, as a new reference; {} on a node without DMTCP
 * and CRIU. An image has the addresses of the kernel's vDSO and functions chosen for the CPU, and only the version that wrote it
 * reads it. A version is left out if the program did not print it. `dmtcp`, `criu`: folders of the programs; "": the node does
 * not have the program. */
json_t *restart_facts(const char *dmtcp, const char *criu);

/* Returns the name of a program, of DMTCP or CRIU, that the node has and whose version is not among the facts; NULL: none. */
const char *restart_facts_lacking(const json_t *facts, const char *dmtcp, const char *criu);

#endif
