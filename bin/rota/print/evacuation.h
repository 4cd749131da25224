/* evacuation.h - prints what an evacuation of nodes, or a move of a job, does. */
#ifndef ROTA_BIN_EVACUATION_H
#define ROTA_BIN_EVACUATION_H

#include <jansson.h>

/* Print what becomes of each step, a line each, from the answer of evacuate or job_migrate. */
void evacuation_print_plan(const json_t *answer);

/* Print evacuations with their steps, the newest first. */
void evacuation_print_list(const json_t *evacuations);

#endif
