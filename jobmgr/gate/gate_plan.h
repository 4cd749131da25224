/* gate_plan.h - a plan as short as it can be said. For the files of the gate only. */
#ifndef ROTA_GATE_PLAN_H
#define ROTA_GATE_PLAN_H

#include <jansson.h>

/* Leave out of a plan what is null or empty, and say once, as "common" and "spec_end", what all of its steps have alike. */
void gate_plan_shorten(json_t *plan);

#endif
