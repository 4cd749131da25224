/* admin_db.h - the database side of `rota admin db upgrade`; `rota up` calls it too. */
#ifndef ROTA_BIN_ADMIN_DB_H
#define ROTA_BIN_ADMIN_DB_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "lib/err.h"

struct admin_db_report {
	int version;	/* number of the newest migration in the database after the call */
	int migrations; /* number of migrations that this call applied */
	int files;	/* number of files of sql/ that were installed; 0 if they were up to date */
};

/* Write why a connection could not be made: no server answers, or it refused the login. */
void admin_db_explain(const char *conninfo, PGconn *db, struct err *e);

/* Upgrade the database to the schema that this binary contains, in one transaction. A failed upgrade changes nothing. */
bool admin_db_upgrade(const char *conninfo, struct admin_db_report *report, struct err *e);

#endif
