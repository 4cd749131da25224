/* lead_lower_priority.c - lowers the CPU priority of backends that serve analysts and readers.
 *
 * A query of an analyst may use a CPU for minutes, and PostgreSQL has no priorities. Linux's idle class runs a process only
 * when no other process needs the CPU.
 * Called by: lead.c, about once a second.
 * Invariants:
 *  - Only backends that the database names are changed, and only if they are children of the server of our own connection. */
#include "jobmgr/lead/lead_lower_priority.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/proc_file.h"

enum { NICE_LOWEST = 19 }; /* nice value for autogroups, which cannot have the idle class */

static int process_parent(int pid)
{
	char text[512];
	int parent = 0;

	proc_file_read(pid, "stat", text, sizeof text);
	const char *fields = proc_file_stat(text);
	return fields && sscanf(fields, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Linux may share CPUs between sessions first (autogroup), and each backend is the only process of a session. So the nice value
 * of its session is lowered, too. Linux allows such a change ten times a second. Returns false if the next call has to try
 * again. */
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
		log_debug("could not lower the priority of backend %d: %m", pid);
}

static void readers_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	int server = db_server(db);

	(void)arg;
	if (!result) {
		log_debug("could not read the backends of analysts and readers: %s %s", e->code, e->message);
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
