/* admin_db_check.h - `rota admin db check`, `restored` and `accept`. */
#ifndef ROTA_BIN_ADMIN_DB_CHECK_H
#define ROTA_BIN_ADMIN_DB_CHECK_H

#include <stdbool.h>

/* Check the database at `conninfo` and print the findings. Returns the exit status: EXIT_REFUSED if a finding is bad. */
int admin_db_check(const char *conninfo, bool json);

/* Print what must be done before daemons use a restored database or, with `accepts`, a database that they refuse as an older
 * copy. With `acts`: do it. `skip`: number of job numbers to leave out. Returns the exit status. */
int admin_db_begin(const char *conninfo, bool accepts, const char *skip, bool acts, bool json);

#endif
