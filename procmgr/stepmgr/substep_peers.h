/* substep_peers.h - dependencies between sub-steps: the member `after`. */
#ifndef ROTA_PROCMGR_SUBSTEP_PEERS_H
#define ROTA_PROCMGR_SUBSTEP_PEERS_H

#include "procmgr/stepmgr/substep_engine.h"

enum substep_peers_state {
	SUBSTEP_PEERS_OPEN, /* may still be met */
	SUBSTEP_PEERS_MET,
	SUBSTEP_PEERS_NEVER,	  /* can no longer be met */
	SUBSTEP_PEERS_NOT_NEEDED, /* can no longer be met: the condition is `fail`, and the peer completed */
};

/* Parse "3:ok,solve:any" (all of them) or "3?5:fail" (one of them). A name means the last sub-step of that name. */
bool substep_peers_parse(struct substep_engine *m, const char *after, struct substep_peer **peers, int *count, bool *any,
			 struct err *e);
enum substep_peers_state substep_peers_state(struct substep_engine *m, const struct substep *s);

#endif
