/* gate_modify.h - changes submitted jobs by the options of submit. For gate*.c only. */
#ifndef ROTA_GATE_MODIFY_H
#define ROTA_GATE_MODIFY_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_MODIFY: {"jobs": ["812.solve"], "options": ["--time=1:00:00"]}. */
void gate_modify(struct gate_call *c);

/* Returns true if two specs differ at most in fields that say where a step runs, or name it. */
bool gate_modify_runs_alike(const char *before, const char *after);

#endif
