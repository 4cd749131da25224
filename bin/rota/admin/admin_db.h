/* admin_db.h - the database side of `rota admin db upgrade`; `rota up` calls it too. */
#ifndef ROTA_BIN_ADMIN_DB_H
#define ROTA_BIN_ADMIN_DB_H

#include <stdbool.h>

#include "lib/err.h"

struct admin_db_report {
	int version;	/* the newest migration in the database now */
	int migrations; /* how many were applied by this call */
	int files;	/* how many files of sql/ were installed, 0 = they were up to date */
};

/* Bring the database to what this binary carries, in one transaction; on failure nothing has changed. */
bool admin_db_upgrade(const char *conninfo, struct admin_db_report *report, struct err *e);

#endif
