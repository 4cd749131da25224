/* admin_copy.h - the rows of queries into files, as of one moment. */
#ifndef ROTA_BIN_ADMIN_COPY_H
#define ROTA_BIN_ADMIN_COPY_H

#include <jansson.h>

#include "lib/err.h"

/* Copy `tables` ([{name, query}]) to FOLDER/NAME.csv.gz, as whoever runs the instance. What came of it, in the same order:
 * [{file, rows, bytes, sha256, columns}]; NULL with an error where anything failed. */
json_t *admin_copy(const char *folder, const json_t *tables, struct err *e);

/* Whether it would get its sessions. */
bool admin_copy_may(struct err *e);

#endif
