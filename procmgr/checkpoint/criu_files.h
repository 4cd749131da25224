/* criu_files.h - the files that a program saved by CRIU writes to, with their sizes. */
#ifndef ROTA_CRIU_FILES_H
#define ROTA_CRIU_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Write into a folder a list of the files that the process `root` and its descendants have open for writing, with their sizes.
 * These processes must be stopped. */
bool criu_files_note(pid_t root, int folder, struct err *e);
/* Cut the files of the list in a folder to the sizes that they had. Returns false with an error if a file is shorter, or cannot
 * be cut. */
bool criu_files_cut(int folder, struct err *e);

#endif
