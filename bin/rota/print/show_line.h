/* show_line.h - the lines of `rota show`. */
#ifndef ROTA_BIN_SHOW_LINE_H
#define ROTA_BIN_SHOW_LINE_H

#include <jansson.h>

/* Print a line "  Name        value"; nothing for an empty value. */
void show_line_print(const char *name, const char *value);

/* Print when a job or step was submitted, started and ended, and how long it ran. */
void show_line_times(const json_t *job);

/* Print the allocated or requested resources of a step or sub-step, as "2 CPUs, 4G memory, 1 task". `memory_key`: member of the
 * object with its memory in MiB; 0 MiB means all memory of the node. */
void show_line_size(const json_t *step, const char *memory_key);

/* Returns why a job or step waits, or how it ended; "" if the exit code says that already. */
const char *show_line_reason(const json_t *object);

#endif
