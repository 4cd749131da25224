/* agent_db.c - reads answers of the database.
 *
 * Called by: all files of the agent that call the database. */
#include "procmgr/agent/agent_db.h"

#include <string.h>

const char *agent_db_text(const PGresult *result, int row, const char *column)
{
	int c = PQfnumber(result, column);
	return c < 0 || PQgetisnull(result, row, c) ? "" : PQgetvalue(result, row, c);
}

bool agent_db_is_permanent(const struct err *e)
{
	static const char *const classes[] = {"22", "23", "42", "P0", "RT", "XX"}; /* SQLSTATE classes of permanent errors */
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (strncmp(e->code, classes[i], 2) == 0)
			return true;
	return false;
}
