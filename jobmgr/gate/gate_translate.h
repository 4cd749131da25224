/* gate_translate.h - what the verbs that translate have in common: the cluster's limits, and refusals. For gate*.c only. */
#ifndef ROTA_GATE_TRANSLATE_H
#define ROTA_GATE_TRANSLATE_H

#include "jobmgr/gate/gate_call.h"

/* Call `then` as soon as the server's limits are at most a second old. */
void gate_translate_with_limits(struct gate_call *c, void (*then)(struct gate_call *c));

/* For a request that the limits refuse: read new limits and call `then`. False: this request has read them already. */
bool gate_translate_retry(struct gate_call *c, void (*then)(struct gate_call *c));
void gate_translate_free_limits(struct gate_server *server);

/* Refuse with all problems of a translation (RT422) and end the call. `file` names the script. A `label` names one of several jobs, and
 * stands before each problem instead. */
void gate_translate_refuse(struct gate_call *c, const char *file, const char *label, const struct translate_problems *problems);

#endif
