/* substep_nodelist.h - the nodes of the step as tasks of sub-steps see them, once some were given back. */
#ifndef ROTA_PROCMGR_SUBSTEP_NODELIST_H
#define ROTA_PROCMGR_SUBSTEP_NODELIST_H

#include "procmgr/stepmgr/substep_nodes.h"

/* Take nodes of the step that were given back out of ROTA_NODELIST and similar variables, in the environment of a sub-step that
 * starts. */
void substep_nodelist_update(const struct substep_nodes *n, struct substep_spec *spec);
/* Returns a variable of the step's environment with its value changed for the updated ROTA_NODELIST, malloc'ed; NULL: the
 * variable is ROTA_NODELIST itself. */
char *substep_nodelist_variable(const struct substep_spec *spec, const char *variable);
/* Returns the position of the node in the updated ROTA_NODELIST; -1: the list was not updated, or does not have the node. */
int substep_nodelist_index(const struct substep_spec *spec, const char *node);

#endif
