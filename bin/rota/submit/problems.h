/* problems.h - prints the problems of a script, a line each. */
#ifndef ROTA_BIN_PROBLEMS_H
#define ROTA_BIN_PROBLEMS_H

#include "jobmgr/translate/translate.h"

/* Print problems on standard error: "FILE:LINE: --option: message", and a hint. A problem of the command line begins with
 * "rota VERB". */
void problems_print(const char *verb, const char *file, const struct translate_problems *problems);

#endif
