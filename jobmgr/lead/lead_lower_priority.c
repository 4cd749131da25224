/* lead_lower_priority.c - who only reads the database yields the processors to those who work with it.
 *
 * Called by lead.c now and then. An analyst's question may keep a processor busy for minutes, and PostgreSQL knows no priorities; the
 * system does: a process of its idle class runs when no other wants to. What always holds: only children of the very server that our
 * own connection leads to are touched, and only those that the server says work for readers. */
#include "jobmgr/lead/lead_lower_priority.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/log.h"

enum { NICE_LOWEST = 19 }; /* of sessions: they have no idle class */

static int process_parent(int pid)
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

/* Where the system shares processors out by session first, a process of a session of its own, as each of PostgreSQL's is, has to lower that
 * as well. It allows that ten times a second: what comes too soon is left for the next look. */
static bool process_lower_session(int pid)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/autogroup", pid);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	bool later = dprintf(fd, "%d", NICE_LOWEST) < 0 && errno == EAGAIN;
	close(fd);
	return !later;
}

static void process_lower(int pid)
{
	static const struct sched_param none = {0};

	if (sched_getscheduler(pid) != SCHED_IDLE && process_lower_session(pid) && sched_setscheduler(pid, SCHED_IDLE, &none) &&
	    errno != ESRCH)
		log_debug("process %d of the database yields to nobody: %m", pid);
}

static void readers_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	int server = db_server(db);

	(void)arg;
	if (!result) {
		log_debug("who reads the database is not known: %s %s", e->code, e->message);
		return;
	}
	for (int i = 0; server && i < PQntuples(result); i++) {
		int pid = atoi(PQgetvalue(result, i, 0));
		if (process_parent(pid) == server)
			process_lower(pid);
	}
}

void lead_lower_priority(struct db *db)
{
	if (db_server(db))
		db_call(db, API_session_readers, NULL, 0, readers_answered, NULL);
}
