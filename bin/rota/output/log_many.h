/* log_many.h - the output of several steps at once, each line behind the name of its step. */
#ifndef ROTA_BIN_LOG_MANY_H
#define ROTA_BIN_LOG_MANY_H

#include "bin/rota/output/log_file.h"

/* Print what the steps of the job, or the elements of the array, that is the operand have written; with `follow`, until all have ended. The
 * exit status. */
int log_many(const struct log *log);

#endif
