/* gate_hook_status.h - has the site's function slurm_bb_get_status answer users. For gate*.c only. */
#ifndef ROTA_GATE_HOOK_STATUS_H
#define ROTA_GATE_HOOK_STATUS_H

#include "jobmgr/gate/gate_call.h"

/* Is this a request {"action": "status", "words": ["..."]} of the verb "hooks"? */
bool gate_hook_status_is_asked(const struct gate_call *c);

/* Carry out a request of `rota admin hook status`. The function slurm_bb_get_status gets user id, group id and the words. The
 * answer is {"lines": TEXT}; TEXT is null if the function returned no text. If the function fails, the request fails. */
void gate_hook_status(struct gate_call *c);

/* At the end of jobmgrd: refuse the requests of `rota admin hook status`, which may wait for hooks.other_timeout. */
void gate_hook_status_end(struct gate_server *server);

#endif
