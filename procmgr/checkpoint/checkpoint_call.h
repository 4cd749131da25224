/* checkpoint_call.h - reports to jobmgrd about the checkpoints of the attempt in which this process runs. */
#ifndef ROTA_CHECKPOINT_CALL_H
#define ROTA_CHECKPOINT_CALL_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

enum { CALL_BRIEFLY_S = 30, CALL_LONG_S = 600 };

/* Send jobmgrd a report for api.checkpoint_report: the members of `report`, which is freed, and the job, step, attempt and node
 * from the environment. While jobmgrd or the database cannot be reached, tries for `seconds`. Returns the answer; NULL with an
 * error. `config`: path of rota.conf. */
json_t *checkpoint_call(const char *config, const char *action, json_t *report, int seconds, struct err *e);

#endif
