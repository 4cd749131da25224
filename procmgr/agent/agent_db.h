/* agent_db.h - reads answers of the database. */
#ifndef ROTA_PROCMGR_AGENT_DB_H
#define ROTA_PROCMGR_AGENT_DB_H

#include "lib/db.h"

/* The value of a column; "" where it is null, or where there is no such column. */
const char *agent_db_text(const PGresult *result, int row, const char *column);

/* Is the error permanent? The database then rejects the content of the call, and sending it again does not help. */
bool agent_db_is_permanent(const struct err *e);

#endif
