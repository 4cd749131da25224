/* gate_modify.h - the options of submit, for jobs that are there already. For the files of the gate only. */
#ifndef ROTA_GATE_MODIFY_H
#define ROTA_GATE_MODIFY_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_MODIFY: {"jobs": ["812.solve"], "options": ["--time=1:00:00"]}. */
void gate_modify(struct gate_call *c);

/* Whether two specs run the same: they differ at most in names that say where a step counts, not in what is run or how. */
bool gate_spec_runs_alike(const char *before, const char *after);

#endif
