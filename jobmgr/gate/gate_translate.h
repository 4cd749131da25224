/* gate_translate.h - what submit and modify have in common: limits, refusals. For the files of the gate only. */
#ifndef ROTA_GATE_TRANSLATE_H
#define ROTA_GATE_TRANSLATE_H

#include "jobmgr/gate/gate_call.h"

/* Go on with `then` once gate->limits are not older than a second. */
void gate_limits(struct gate_call *c, void (*then)(struct gate_call *c));

/* For a request that the limits refuse: ask the database for new ones and go on with them. False, and nothing is done, when this
 * request has asked already. */
bool gate_limits_again(struct gate_call *c, void (*then)(struct gate_call *c));
void gate_limits_free(struct gate_office *gate);

/* Refuse with all problems of a translation (RT422) and end the call; `file` is where the lines are. With a `label`, one of several
 * requests is refused, and all problems are called by it. */
void gate_call_problems(struct gate_call *c, const char *file, const char *label, const struct translate_problems *problems);

#endif
