/* program_file.h - what the file of a program says about whether an image of the program can be made and restored. */
#ifndef ROTA_PROGRAM_FILE_H
#define ROTA_PROGRAM_FILE_H

#include <stdbool.h>

#include "lib/err.h"

/* Does the program of this path run with the rights of its user alone? Not if the file, or the interpreter of a script, has the
 * setuid or setgid bit, or capabilities: a restored process has no such rights. */
bool program_file_is_plain(const char *path, struct err *e);
/* The same, and is the program dynamically linked? */
bool program_file_is_dynamic(const char *path, struct err *e);

#endif
