/* cost.h - prints the highest possible cost of a job. */
#ifndef ROTA_BIN_COST_H
#define ROTA_BIN_COST_H

#include <jansson.h>
#include <stdbool.h>

/* Print the cost of a job, as the member "cost" of the answer of `check` has it (internal.plan_cost): a table of its steps with
 * billing units and money, or with `json` the object as it is. */
void cost_print(const json_t *cost, bool json);

#endif
