/* lead_yield.c - who only reads the database yields the processors to those who work with it.
 *
 * Called by lead.c now and then. An analyst's question may keep a processor busy for minutes, and PostgreSQL knows no priorities; the
 * system does: a process of the lowest one runs when no other wants to. What always holds: only children of the very server that our
 * own connection leads to are touched, and only those that the server says work for readers. */
#include "jobmgr/lead/lead_yield.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "lib/log.h"

enum { LOWEST = 19 };

static int parent_of(int pid)
{
	char path[32];
	int parent = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
		parent = 0;
	fclose(file);
	return parent;
}

static void readers_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	int server = db_server(db);

	(void)arg;
	if (!result) {
		log_debug("who reads the database is not known: %s %s", e->code, e->message);
		return;
	}
	for (int i = 0; server && i < PQntuples(result); i++) {
		int pid = atoi(PQgetvalue(result, i, 0));
		if (parent_of(pid) == server && getpriority(PRIO_PROCESS, pid) < LOWEST &&
		    setpriority(PRIO_PROCESS, pid, LOWEST) && errno != ESRCH)
			log_debug("process %d of the database yields to nobody: %m", pid);
	}
}

void lead_yield(struct db *db)
{
	if (db_server(db))
		db_call(db, API_session_readers, NULL, 0, readers_came, NULL);
}
