/* dmtcp_guard.h - starts the DMTCP coordinator of an attempt, which only processes of the attempt's owner reach. */
#ifndef ROTA_DMTCP_GUARD_H
#define ROTA_DMTCP_GUARD_H

#include "lib/err.h"

struct dmtcp_guard {
	const char *programs; /* folder with DMTCP's programs */
	const char *path;     /* path of the folder for the coordinator of this attempt; made if it does not exist */
	void (*watch)(int port, void *arg); /* function to run in a process of its own, beside the coordinator; NULL: none */
	void *arg;
	const char *link;   /* path of rota-link, to run for the other nodes of the step; NULL: there are none */
	const char *config; /* path of rota.conf, for rota-link */
};

/* In a process that stays when its parent has ended: block all signals but SIGKILL and SIGSTOP, since a signal for the step is for
 * its program, and allow as many descriptors as the step may have. */
void dmtcp_guard_detach(void);

/* Start a coordinator, and the guard to whose port programs connect. Both become orphans, and end after the last process that has
 * joined the coordinator. Returns the guard's port, -1 with an error. */
int dmtcp_guard_start(const struct dmtcp_guard *guard, struct err *e);

#endif
