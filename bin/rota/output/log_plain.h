/* log_plain.h - opens the output file of a step for reading. */
#ifndef ROTA_BIN_LOG_PLAIN_H
#define ROTA_BIN_LOG_PLAIN_H

#include <stdbool.h>

/* Open the file `path` of the user `owner` (NULL: unknown). Root opens it with the rights of the owner. Returns -1 with errno set
 * if the file cannot be opened, or if the path leads to something else than a plain file; *plain is then false. */
int log_plain_open(const char *path, const char *owner, bool *plain);

#endif
