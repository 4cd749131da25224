/* run_output.h - output of one sub-step of many, kept until the sub-step has ended and then printed in one piece. */
#ifndef ROTA_BIN_RUN_OUTPUT_H
#define ROTA_BIN_RUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Output of one stream: in memory, then in a file without a name. All 0 at the beginning. */
struct run_output {
	char *bytes;
	size_t size, room;
	FILE *file;
};

void run_output_add(struct run_output *o, const char *bytes, size_t size);
bool run_output_is_empty(const struct run_output *o);

/* Write all output of the stream to a descriptor, and free it. With a `label`, each line begins with the label and a colon.
 * Returns false if it could not be written. */
bool run_output_finish(struct run_output *o, int fd, const char *label);

#endif
