/* session.c - has the database end sessions that exceed their limits (sql/cluster/session.sql).
 *
 * Called by: jobmgrd, about every second; nodemgrd. */
#include "lib/session.h"

#include <stdio.h>
#include <string.h>

#include "lib/log.h"

static void session_judged(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	(void)arg;
	if (!result && strncmp(e->code, "08", 2) != 0) /* 08...: the connection was lost, which db.c reports */
		log_warning("could not check whether database sessions exceed their limits: %s %s", e->code, e->message);
	for (int i = 0; result && i < PQntuples(result); i++)
		log_warning("database session of %s ended: %s", db_text(result, i, "who"), db_text(result, i, "reason"));
}

void session_judge(struct db *db, const struct conf *conf)
{
	char silence[16];

	snprintf(silence, sizeof silence, "%d", conf->schedule_lease);
	db_call(db, API_session_judge, (struct db_param[]){{silence, -1}}, 1, session_judged, NULL);
}
