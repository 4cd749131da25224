/* submit_each.h - makes the jobs of a parameter list: `rota submit --each --arg-file=FILE SCRIPT [ARGUMENT]...`. */
#ifndef ROTA_BIN_SUBMIT_EACH_H
#define ROTA_BIN_SUBMIT_EACH_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* Returns the lines of a file ("-": standard input) without blank lines, as strings; NULL with an error on failure. */
json_t *submit_each_lines(const char *path, struct err *e);

/* Refuse a script whose lines of options have a placeholder: all jobs have the same script. */
bool submit_each_check(const char *name, const char *script, struct err *e);

/* Returns "options" and "arguments" of the job of one line. {} stands for the line, {1}, {2} and so on for its words. Without
 * a placeholder, the words of the line are appended to the arguments. Returns NULL with an error on failure. */
json_t *submit_each_job(const char *line, const json_t *options, const json_t *arguments, struct err *e);

#endif
