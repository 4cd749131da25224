/* agent_db.h - reads answers of the database. */
#ifndef ROTA_PROCMGR_AGENT_DB_H
#define ROTA_PROCMGR_AGENT_DB_H

#include "lib/db.h"

/* Returns the value of a column, or "" if the value is null or the column does not exist. */
const char *agent_db_text(const PGresult *result, int row, const char *column);

/* Is the error permanent? After a permanent error the database rejects the same call each time. */
bool agent_db_is_permanent(const struct err *e);

#endif
