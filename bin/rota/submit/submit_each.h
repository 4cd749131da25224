/* submit_each.h - the jobs of a parameter list: `rota submit --each --arg-file=FILE SCRIPT [ARGUMENT]...`. */
#ifndef ROTA_BIN_SUBMIT_EACH_H
#define ROTA_BIN_SUBMIT_EACH_H

#include <jansson.h>

#include "lib/err.h"

/* The lines of a file ("-": standard input) that are not blank, as strings; NULL with an error. */
json_t *submit_each_lines(const char *path, struct err *e);

/* What the job of a line asks for: its own "options" and "arguments". {} stands for the line, {1}, {2} and so on for its words; where no
 * option or argument has any, the words are the arguments behind those given. NULL with an error. */
json_t *submit_each_job(const char *line, const json_t *options, const json_t *arguments, struct err *e);

#endif
