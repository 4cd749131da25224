/* log_many.h - prints the output of several steps. Each line begins with the name of its step. */
#ifndef ROTA_BIN_LOG_MANY_H
#define ROTA_BIN_LOG_MANY_H

#include "bin/rota/output/log_file.h"

/* Print the output of the steps of the job, or of the elements of the array, that the operand names; with `follow`, until all have ended. Returns
 * the exit status. */
int log_many(const struct log *log);

#endif
