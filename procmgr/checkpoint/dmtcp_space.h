/* dmtcp_space.h - whether the images of a program fit on the disk. */
#ifndef ROTA_DMTCP_SPACE_H
#define ROTA_DMTCP_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* Returns the most bytes that DMTCP writes for the processes of the step: each MiB that has a page in use, and what they map of files. `root`:
 * the first process of the step, a child of the keeper. */
int64_t dmtcp_space_count(pid_t root);
/* Does the disk of the folder `images` have as much space as images of so many bytes need? */
bool dmtcp_space_suffices(int images, int64_t bytes, struct err *e);

#endif
