/* gate_translate.h - functions that submit and modify share: limits of the cluster for the translator, and refusals. For gate*.c
 * only. */
#ifndef ROTA_GATE_TRANSLATE_H
#define ROTA_GATE_TRANSLATE_H

#include "jobmgr/gate/gate_call.h"

/* Read the limits of the cluster into the server, unless they are at most a second old, then call `then`. */
void gate_translate_with_limits(struct gate_call *c, void (*then)(struct gate_call *c));

/* Read new limits for a request that the cached limits refuse, and call `then`. Returns false if the request has already read
 * new limits. */
bool gate_translate_retry(struct gate_call *c, void (*then)(struct gate_call *c));
void gate_translate_free_limits(struct gate_server *server);

/* Refuse the request with all problems of a translation (RT422), and end the call. `file` names the script. If there is a
 * `label`, it names one of several jobs, and stands before each problem instead of `file`. */
void gate_translate_refuse(struct gate_call *c, const char *file, const char *label, const struct translate_problems *problems);

#endif
