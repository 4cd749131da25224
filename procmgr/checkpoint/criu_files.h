/* criu_files.h - the files that a program saved by CRIU writes to, with their sizes. */
#ifndef ROTA_CRIU_FILES_H
#define ROTA_CRIU_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Write into a folder which files the process `root` and its descendants may write to, and how long each is. They must be stopped. */
bool criu_files_note(pid_t root, int folder, struct err *e);
/* Cut these files to the sizes that they had. With an error if one is shorter, or cannot be cut. */
bool criu_files_cut(int folder, struct err *e);

#endif
