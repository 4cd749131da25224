/* credd_task.c - sends questions to the database, one of a kind at a time.
 *
 * Called by: all other files of rota-credd, when a question may be due, and when one was answered. */
#include <string.h>

#include "credmgr/credd_parts.h"
#include "lib/log.h"

void credd_poll(struct credd *c)
{
	if (!db_is_up(c->db))
		return;
	for (int i = 0; i < CREDD_TASKS; i++) {
		if (!c->due[i] || c->asking[i])
			continue;
		c->due[i] = false;
		c->ask[i](c);
	}
}

void credd_answered(struct credd *c, enum credd_task task, bool again, const PGresult *result, const struct err *e)
{
	static const char *const names[CREDD_TASKS] = {"removals", "boxes", "uploads", "renewals",
						       "tests",	   "holds", "keys",    "nodes"};
	if (!result && strncmp(e->code, "08", 2) != 0) /* credd_down() logs a lost connection */
		log_error("could not ask the database for %s of credentials; trying again: %s %s", names[task], e->code,
			  e->message);
	c->asking[task] = false;
	c->due[task] = c->due[task] || (again && result);
	credd_poll(c);
}
