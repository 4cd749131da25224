/* submit_each.h - the jobs of a parameter list: `rota submit --each --arg-file=FILE SCRIPT [ARGUMENT]...`. */
#ifndef ROTA_BIN_SUBMIT_EACH_H
#define ROTA_BIN_SUBMIT_EACH_H

#include <jansson.h>

#include "lib/err.h"

/* The lines of a file ("-": standard input) without blank ones, as strings; NULL with an error. */
json_t *submit_each_lines(const char *path, struct err *e);

/* "options" and "arguments" of the job of a line. {} stands for the line, {1}, {2} and so on for its words. Without a placeholder, the words
 * of the line are appended to the arguments. NULL with an error. */
json_t *submit_each_job(const char *line, const json_t *options, const json_t *arguments, struct err *e);

#endif
