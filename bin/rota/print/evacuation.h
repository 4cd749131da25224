/* evacuation.h - prints the steps of an evacuation of nodes, or of a move of a job, and their outcome. */
#ifndef ROTA_BIN_EVACUATION_H
#define ROTA_BIN_EVACUATION_H

#include <jansson.h>

/* Print for each step, on a line of its own, which action the evacuation or move takes, from the answer of the API's verb `evacuate` or `job_migrate`. */
void evacuation_print_plan(const json_t *answer);

/* Print evacuations with their steps, the newest first. */
void evacuation_print_list(const json_t *evacuations);

#endif
