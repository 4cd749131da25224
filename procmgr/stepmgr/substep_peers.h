/* substep_peers.h - dependencies between sub-steps: the member `after`. */
#ifndef ROTA_PROCMGR_SUBSTEP_PEERS_H
#define ROTA_PROCMGR_SUBSTEP_PEERS_H

#include "procmgr/stepmgr/substep_engine.h"

enum substep_peers_state {
	SUBSTEP_PEERS_OPEN, /* the conditions may still be met */
	SUBSTEP_PEERS_MET,
	SUBSTEP_PEERS_NEVER,	  /* the conditions can no longer be met: the sub-step fails */
	SUBSTEP_PEERS_NOT_NEEDED, /* the condition is `fail`, and the peer completed: the sub-step is skipped */
};

/* Parse conditions like "3:ok,solve:any" (all must be met) or "3?5:fail" (one must be met). A name means the last sub-step of
 * that name. */
bool substep_peers_parse(struct substep_engine *m, const char *after, struct substep_peer **peers, int *count, bool *any,
			 struct err *e);
enum substep_peers_state substep_peers_state(struct substep_engine *m, const struct substep *s);

#endif
