/* admin_db_check.h - `rota admin db check`, `restored` and `accept`. */
#ifndef ROTA_BIN_ADMIN_DB_CHECK_H
#define ROTA_BIN_ADMIN_DB_CHECK_H

#include <stdbool.h>

/* Print what is found about the database at `conninfo`. Returns the exit status: EXIT_REFUSED if something is wrong. */
int admin_db_check(const char *conninfo, bool json);

/* Print what is due before a database is used that was restored, or (`accepts`) that daemons refuse as an older copy; if `acts`, do it.
 * Job numbers go on `skip` higher. Returns the exit status. */
int admin_db_begin(const char *conninfo, bool accepts, const char *skip, bool acts, bool json);

#endif
