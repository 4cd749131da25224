/* output.h - the files that a step's output goes to, as paths. */
#ifndef ROTA_BIN_OUTPUT_H
#define ROTA_BIN_OUTPUT_H

#include <jansson.h>

/* The absolute path of a step's (or attempt's: attempts.h) "output" or "error" in a `show` answer, with what is known by now put in
 * for the %-letters; malloc'ed, NULL where the step has none of that or it is private. */
char *output_path(const json_t *job, const json_t *step, const char *key);

#endif
