/* gate_translate.h - functions that submit and modify share: limits of the cluster for the translator, and refusals. For gate*.c
 * only. */
#ifndef ROTA_GATE_TRANSLATE_H
#define ROTA_GATE_TRANSLATE_H

#include "jobmgr/gate/gate_call.h"

/* Call `then` as soon as the limits of the cluster that the server has read are at most a second old. */
void gate_translate_with_limits(struct gate_call *c, void (*then)(struct gate_call *c));

/* Read new limits for a request that the present limits refuse, and call `then`. Returns false if the request has read new limits
 * already. */
bool gate_translate_retry(struct gate_call *c, void (*then)(struct gate_call *c));
void gate_translate_free_limits(struct gate_server *server);

/* Refuse with all problems of a translation (RT422) and end the call. `file` names the script. If there is a `label`, it names
 * one of several jobs, and stands before each problem instead of `file`. */
void gate_translate_refuse(struct gate_call *c, const char *file, const char *label, const struct translate_problems *problems);

#endif
