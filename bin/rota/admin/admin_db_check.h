/* admin_db_check.h - `rota admin db check`, `restored` and `accept`. */
#ifndef ROTA_BIN_ADMIN_DB_CHECK_H
#define ROTA_BIN_ADMIN_DB_CHECK_H

#include <stdbool.h>

/* Print what is found about the database at `conninfo`. Returns the exit status: EXIT_REFUSED if something is wrong. */
int admin_db_check(const char *conninfo, bool json);

/* Print what has to be done before daemons use a restored database. With `accepts`: one that they refuse as an older copy. With `acts`: do
 * it. `skip`: how many job numbers to leave out. Returns the exit status. */
int admin_db_begin(const char *conninfo, bool accepts, const char *skip, bool acts, bool json);

#endif
