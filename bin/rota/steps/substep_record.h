/* substep_record.h - reads the record of a sub-step from the database, if its step manager cannot be reached. */
#ifndef ROTA_BIN_SUBSTEP_RECORD_H
#define ROTA_BIN_SUBSTEP_RECORD_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/rota.h"

/* Returns the row of `rota acct --substeps` of a sub-step, named as 812.solve.3, of its latest attempt; NULL with an error. */
json_t *substep_record(const char *word, struct err *e);

/* Wait until the database has the end of a sub-step. Returns its row, which owns the texts of *end; NULL with the exit status
 * after printing the reason. */
json_t *substep_record_wait(const char *word, struct rota_end *end, int *status);

#endif
