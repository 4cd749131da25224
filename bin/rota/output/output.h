/* output.h - finds the paths of the output files of a step. */
#ifndef ROTA_BIN_OUTPUT_H
#define ROTA_BIN_OUTPUT_H

#include <jansson.h>

/* Returns the absolute path of the "output" or "error" file of a step (or attempt: attempts.h) of a `show` answer, malloc'ed.
 * %-letters are replaced as far as their values are known. Returns NULL if the step has no such file or the path is private. */
char *output_path(const json_t *job, const json_t *step, const char *key);

#endif
