/* substep_record.h - what the database knows of a sub-step, for those whose step manager cannot be reached. */
#ifndef ROTA_BIN_SUBSTEP_RECORD_H
#define ROTA_BIN_SUBSTEP_RECORD_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/rota.h"

/* Returns the row of `rota acct --substeps` of a sub-step, named as 812.solve.3, of its latest attempt; NULL with an error. */
json_t *substep_record(const char *word, struct err *e);

/* Wait until a sub-step has ended by the database. Returns its row, in which the texts of *end are; NULL with the exit status after
 * printing the reason. */
json_t *substep_record_wait(const char *word, struct rota_end *end, int *status);

#endif
