/* admin_copy.h - copies the results of queries to files, all from one database snapshot. */
#ifndef ROTA_BIN_ADMIN_COPY_H
#define ROTA_BIN_ADMIN_COPY_H

#include <jansson.h>

#include "lib/err.h"

/* Copy the result of each query in `tables` ([{name, query}]) to FOLDER/NAME.csv.gz, connected as role rota_admin. Returns one
 * object for each file, in the order of `tables`: [{file, rows, bytes, sha256, columns}]. Returns NULL with an error if any
 * copy failed. */
json_t *admin_copy(const char *folder, const json_t *tables, struct err *e);

/* Returns whether admin_copy() could open its database sessions. */
bool admin_copy_may(struct err *e);

#endif
